"""Reassignments of replicas, and leader elections by request.

Theory   During a reassignment the partition has the wanted replicas first, then those that it is to lose. New replicas
         copy the log as followers do, in their behaviour (follower.py). Once the ISR has all replicas that stay, the
         controller removes the others in its next step, when the change of the ISR reaches it. If the reassignment is
         cancelled, the new ones are removed.
Source   metadata/.../controller/ReplicationControlManager.java @ 4.4: alterPartitionReassignments,
         changePartitionReassignment, validatePartitionReplicationFactorUnchanged, cancelPartitionReassignment,
         listPartitionReassignments, electLeaders, electLeader; AlterPartition for the end of a reassignment.
Differs  As in leadership.py: in one step. The ISR counts as it is when the controller checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

from fakebroker.core.clock import Now
from fakebroker.core.controller.elections import Election
from fakebroker.core.controller.leadership import Leadership
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.controller.partition_change import (
    PartitionChange,
    change,
    current_target,
    reassigned,
    reverted,
)
from fakebroker.core.controller.placement import validate_manual_partition_assignment
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from timingwheel import SystemTimer, TimerTask

_NOT_NEEDED: Final = "Leader election not needed for topic partition."
_NO_PREFERRED: Final = "The preferred leader was not available."
_NO_ELIGIBLE: Final = "Eligible topic partition leaders are not available."


class _IsrChanged(TimerTask):
    """The notice of an ISR change. The controller gets it at once, but after the work in progress."""

    def __init__(self, reassignments: Reassignments, partition: Partition) -> None:
        super().__init__(0)
        self._reassignments = reassignments
        self._partition = partition

    def run(self) -> None:
        self._reassignments.on_isr_changed(self._partition)


@final
class Reassignments:
    """The changes of replicas and leaders by request. `timer` is that of the followers."""

    def __init__(
        self, leadership: Leadership, metadata: MetadataCache, timer: SystemTimer, read_now: Callable[[], Now]
    ) -> None:
        self._leadership = leadership
        self._metadata = metadata
        self._timer = timer
        self._read_now = read_now
        self._told: set[Partition] = set()  # partitions with a pending _IsrChanged

    def alter(
        self, topic: str, index: int, replicas: Sequence[int] | None, now: Now, may_change_factor: bool = True
    ) -> None:
        """Reassign a partition to these replicas; None cancels the present reassignment. Raise KafkaError."""
        partition = self._find(topic, index)
        if replicas is None:
            decided = self._cancelled(partition)
        else:
            validate_manual_partition_assignment(replicas, self._leadership.registry.broker_ids, None)
            if not may_change_factor:
                _validate_factor_unchanged(partition, replicas)
            decided = change(partition, partition.isr, Election.ONLINE, reassigned(partition, replicas))
        partition.on_isr_change = lambda: self._tell(partition)  # it may be over before `apply` returns
        self._leadership.apply(partition, decided, now)
        if not partition.is_reassigning:
            partition.on_isr_change = None

    def _find(self, topic: str, index: int) -> Partition:
        if self._metadata.topic(topic) is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, f"Unable to find a topic named {topic}.")
        partition = self._metadata.find_partition(topic, index)
        if partition is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, f"Unable to find partition {topic}:{index}.")
        return partition

    def _cancelled(self, partition: Partition) -> PartitionChange:
        if not partition.is_reassigning:
            raise KafkaError(ErrorCode.no_reassignment_in_progress, "")  # Kafka leaves the message to the code
        target, isr, is_unclean = reverted(partition)
        may_be_unclean = partition.config.unclean_leader_election_enable
        if is_unclean and not may_be_unclean:
            topic, index = partition.topic_partition
            raise KafkaError(
                ErrorCode.invalid_replica_assignment,
                f"Unable to revert partition assignment for {topic}:{index} because it would require an unclean leader "
                "election.",
            )
        return change(partition, isr, Election.UNCLEAN if may_be_unclean else Election.ONLINE, target)

    def _tell(self, partition: Partition) -> None:
        if partition not in self._told:
            self._told.add(partition)
            self._timer.add(_IsrChanged(self, partition), self._read_now().mono_ms)

    def on_isr_changed(self, partition: Partition) -> None:
        """Complete the reassignment of a partition if its ISR allows it."""
        self._told.discard(partition)
        if not partition.is_deleted and partition.is_reassigning and partition.leader_id != NO_LEADER:
            decided = change(partition, partition.isr)
            if decided.target != current_target(partition):
                self._leadership.apply(partition, decided, self._read_now())

    def elect_leader(self, topic: str, index: int, is_preferred: bool, now: Now) -> None:
        """Elect the preferred leader, or, uncleanly, one for a partition that has none. Raise KafkaError."""
        if self._metadata.topic(topic) is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, f"No such topic as {topic}")
        partition = self._metadata.find_partition(topic, index)
        if partition is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, f"No such partition as {topic}-{index}")
        leads = partition.leader_id == partition.replica_ids[0] if is_preferred else partition.leader_id != NO_LEADER
        if leads:
            raise KafkaError(ErrorCode.election_not_needed, _NOT_NEEDED)
        decided = change(partition, partition.isr, Election.PREFERRED if is_preferred else Election.UNCLEAN)
        if decided.leader_id == partition.leader_id:
            if is_preferred:
                raise KafkaError(ErrorCode.preferred_leader_not_available, _NO_PREFERRED)
            raise KafkaError(ErrorCode.eligible_leaders_not_available, _NO_ELIGIBLE)
        self._leadership.apply(partition, decided, now)


def _validate_factor_unchanged(partition: Partition, replicas: Sequence[int]) -> None:
    there = {*partition.replicas, *partition.adding} - set(partition.removing)
    if len(there) != len(replicas):
        raise KafkaError(
            ErrorCode.invalid_replication_factor,
            f"The replication factor is changed from {len(there)} to {len(replicas)}",
        )
