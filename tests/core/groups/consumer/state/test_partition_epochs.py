"""Owners of partitions (core/groups/consumer/state/partition_epochs.py)."""

from __future__ import annotations

from uuid import UUID

import pytest

from fakebroker.core.coordinator.timeline import SnapshotRegistry
from fakebroker.core.groups.consumer.state.member import ConsumerGroupMember
from fakebroker.core.groups.consumer.state.partition_epochs import PartitionEpochs

TOPIC = UUID(int=1)


def member(member_id: str, epoch: int) -> ConsumerGroupMember:
    return ConsumerGroupMember(member_id, epoch, assigned={TOPIC: {0: epoch}})


@pytest.mark.parametrize("epoch", [4, 5])
def test_a_partition_is_not_given_to_a_second_member_at_the_epoch_of_its_owner_or_before(epoch: int) -> None:
    epochs = PartitionEpochs(SnapshotRegistry())
    epochs.replace(None, member("a", 5))
    with pytest.raises(ValueError, match=f"to {epoch} because the partition is still owned at epoch 5"):
        epochs.replace(None, member("b", epoch))


def test_a_record_of_the_owner_before_takes_nothing_from_the_next_one() -> None:
    epochs = PartitionEpochs(SnapshotRegistry())
    first = member("a", 5)
    epochs.replace(None, first)
    epochs.replace(None, member("b", 6))
    epochs.replace(first, None)
    assert epochs.owner_epoch(TOPIC, 0) == 6
