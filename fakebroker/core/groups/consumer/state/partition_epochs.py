"""Who holds a partition: the epoch of the member that does.

Theory   A partition is held from when a member is given it until that has given it up, or is gone. Nobody else is
         given it in between. The epoch tells an old holder, whose record comes late, from the new one.
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
    """Of one group."""

    __slots__ = ("_epochs",)

    def __init__(self, registry: SnapshotRegistry) -> None:
        self._epochs: TimelineDict[tuple[UUID, int], int] = TimelineDict(registry)

    def __len__(self) -> int:
        """How many partitions are held."""
        return len(self._epochs)

    def owner_epoch(self, topic_id: UUID, partition: int) -> int:
        """NO_OWNER if nobody holds it."""
        epoch = self._epochs.get((topic_id, partition))
        return NO_OWNER if epoch is None else epoch

    def replace(self, old: ConsumerGroupMember | None, new: ConsumerGroupMember | None) -> None:
        """One member became another, came or went. Raises ValueError if a partition would have two owners."""
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
                if self._epochs.get((topic_id, partition)) == epoch:  # else somebody else holds it by now
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
