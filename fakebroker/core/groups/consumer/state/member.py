"""A member of a consumer group, as an immutable value.

Theory   A member has the epoch of the target that it has reached. `assigned` are partitions that it may use and knows
         of. `pending_revocation` are partitions that it must give up and may still hold. Each partition has the epoch
         at which it was given, which tells late commits from timely ones. A classic member (while the group migrates)
         has `classic`.
Source   group-coordinator/.../modern/consumer/ConsumerGroupMember.java, .../modern/MemberState.java, .../Utils.java
         @ 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple
from uuid import UUID

from fakebroker.protocol.group_records.many_names import Names

Assignment = Mapping[UUID, frozenset[int]]  # partitions by topic id; a topic without any is not there
OwnedPartitions = Mapping[UUID, Mapping[int, int]]  # the same, each partition with the epoch at which it was given

NO_PARTITIONS: Final[Assignment] = {}
NOTHING_OWNED: Final[OwnedPartitions] = {}

# Special epochs that a member sends.
JOIN: Final = 0
LEAVE: Final = -1
LEAVE_FOR_A_WHILE: Final = -2  # a static member that will rejoin


class MemberState(IntEnum):
    """The state of a member. The values are those in records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1  # it must give up partitions, and has not confirmed that
    UNRELEASED_PARTITIONS = 2  # other members still hold partitions of its target
    UNKNOWN = 127

    @classmethod
    def from_value(cls, value: int) -> MemberState:
        """Return the state; UNKNOWN for a value that a newer version has written."""
        try:
            return cls(value)
        except ValueError:
            return cls.UNKNOWN


class ClassicProtocol(NamedTuple):
    """A protocol that a classic member supports, with its subscription."""

    name: str
    metadata: bytes


class ClassicMemberMetadata(NamedTuple):
    """The additional data of a classic member."""

    session_timeout_ms: int
    protocols: tuple[ClassicProtocol, ...]


class ConsumerGroupMember(NamedTuple):
    """A member of a consumer group. `rebalance_timeout_ms` and `previous_member_epoch` are -1 if unknown."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topic_names: Names = frozenset()
    topic_regex: str | None = ""
    assignor: str | None = None
    state: MemberState = MemberState.STABLE
    assigned: OwnedPartitions = NOTHING_OWNED
    pending_revocation: OwnedPartitions = NOTHING_OWNED
    classic: ClassicMemberMetadata | None = None

    @property
    def regex(self) -> str | None:
        """Return the pattern to which the member subscribes, if any."""
        return self.topic_regex or None

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch

    def with_epoch(self, member_epoch: int) -> ConsumerGroupMember:
        """Return the member at that epoch; its present epoch becomes the previous one."""
        return self._replace(member_epoch=member_epoch, previous_member_epoch=self.member_epoch)

    def epoch_of(self, topic_id: UUID, partition: int) -> int | None:
        """Return the epoch at which the member got a partition that it has or is giving up."""
        epoch = self.assigned.get(topic_id, {}).get(partition)
        return self.pending_revocation.get(topic_id, {}).get(partition) if epoch is None else epoch


class TargetAssignment(NamedTuple):
    """The target of a member, at that epoch."""

    epoch: int
    assignment: Assignment


class ReportedPartitions(NamedTuple):
    """Partitions that a member reports."""

    topic_id: UUID
    partitions: Sequence[int]


def owns_only(owned: Iterable[ReportedPartitions] | None, assigned: OwnedPartitions) -> bool:
    """Return True if the reported partitions are part of the assignment. False without a report."""
    if owned is None:
        return False
    return all(
        topic.topic_id in assigned and assigned[topic.topic_id].keys() >= set(topic.partitions) for topic in owned
    )


def with_epochs(assignment: Assignment, epoch: int) -> OwnedPartitions:
    return {topic_id: dict.fromkeys(sorted(partitions), epoch) for topic_id, partitions in assignment.items()}


def without_epochs(owned: OwnedPartitions) -> Assignment:
    return {topic_id: frozenset(partitions) for topic_id, partitions in owned.items()}
