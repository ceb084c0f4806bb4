"""The owners of partitions: for each partition the epoch of its owner.

Theory   A member owns a partition from its assignment until it has given it up, or is gone. No other member gets it in
         between. The epoch tells a late record of the old owner from the new owner.
Source   group-coordinator/.../modern/consumer/ConsumerGroup.java addPartitionEpochs, removePartitionEpochs @ 4.4.
"""

from __future__ import annotations

from typing import Final, final
from uuid import UUID

from fakebroker.core.coordinator.timeline import SnapshotRegistry, TimelineDict
from fakebroker.core.groups.consumer.state.member import ConsumerGroupMember, OwnedPartitions

NO_OWNER: Final = -1


@final
class PartitionEpochs:
    """The owners of the partitions of one group."""

    __slots__ = ("_epochs",)

    def __init__(self, registry: SnapshotRegistry) -> None:
        self._epochs: TimelineDict[tuple[UUID, int], int] = TimelineDict(registry)

    def __len__(self) -> int:
        """Return the number of owned partitions."""
        return len(self._epochs)

    def owner_epoch(self, topic_id: UUID, partition: int) -> int:
        """Return the epoch of the owner; NO_OWNER without one."""
        epoch = self._epochs.get((topic_id, partition))
        return NO_OWNER if epoch is None else epoch

    def replace(self, old: ConsumerGroupMember | None, new: ConsumerGroupMember | None) -> None:
        """Replace a member, add or remove one. Raises ValueError if a partition would have two owners."""
        if old is not None:
            if (
                new is not None
                and new.member_epoch == old.member_epoch
                and new.assigned is old.assigned
                and new.pending_revocation is old.pending_revocation
            ):
                return
            self._remove(old.assigned, old.member_epoch)
            self._remove(old.pending_revocation, old.member_epoch)
        if new is not None:
            self._add(new.assigned, new.member_epoch)
            self._add(new.pending_revocation, new.member_epoch)

    def _remove(self, held: OwnedPartitions, epoch: int) -> None:
        for topic_id, partitions in held.items():
            for partition in partitions:
                if self._epochs.get((topic_id, partition)) == epoch:  # else another member owns it by now
                    self._epochs.pop((topic_id, partition))

    def _add(self, held: OwnedPartitions, epoch: int) -> None:
        for topic_id, partitions in held.items():
            for partition in partitions:
                before = self._epochs.get((topic_id, partition))
                if before is not None and before >= epoch:
                    raise ValueError(
                        f"Cannot set the epoch of {topic_id}-{partition} to {epoch} because the partition is still "
                        f"owned at epoch {before}"
                    )
                self._epochs[topic_id, partition] = epoch
