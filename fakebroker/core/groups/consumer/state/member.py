"""A member of a consumer group, as it is known: values only. Whoever changes one makes another.

Theory   A member has an epoch: that of the target assignment which it has reached. `assigned` is what it may use and
         has been told of; `pending_revocation` what it has been told to give up and may still hold. Each partition
         remembers the epoch at which it was given, so that late commits can be told from those in time.
         A member that speaks the classic protocol (it is being upgraded) has `classic`.
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
OwnedPartitions = Mapping[UUID, Mapping[int, int]]  # the same, each with the epoch at which it was given

NO_PARTITIONS: Final[Assignment] = {}
NOTHING_OWNED: Final[OwnedPartitions] = {}

# Epochs that a member sends, and that say something else.
JOIN: Final = 0
LEAVE: Final = -1
LEAVE_FOR_A_WHILE: Final = -2  # a static member that will be back


class MemberState(IntEnum):
    """By the number that is written."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1  # it was told to give up some, and has not said that it has
    UNRELEASED_PARTITIONS = 2  # some that it is to have are still with others
    UNKNOWN = 127

    @classmethod
    def from_value(cls, value: int) -> MemberState:
        """What a newer version may have written is UNKNOWN."""
        try:
            return cls(value)
        except ValueError:
            return cls.UNKNOWN


class ClassicProtocol(NamedTuple):
    """One that a classic member supports, with its subscription."""

    name: str
    metadata: bytes


class ClassicMemberMetadata(NamedTuple):
    """What a member has besides that speaks the classic protocol."""

    session_timeout_ms: int
    protocols: tuple[ClassicProtocol, ...]


class ConsumerGroupMember(NamedTuple):
    """`rebalance_timeout_ms` is -1, and `previous_member_epoch` as well, as long as nobody has said one."""

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
        """The pattern to which it is subscribed, if any."""
        return self.topic_regex or None

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch

    def with_epoch(self, member_epoch: int) -> ConsumerGroupMember:
        """It goes on to that epoch, and the one it had is the previous one."""
        return self._replace(member_epoch=member_epoch, previous_member_epoch=self.member_epoch)

    def epoch_of(self, topic_id: UUID, partition: int) -> int | None:
        """That at which it was given a partition, which it has or is to give up."""
        epoch = self.assigned.get(topic_id, {}).get(partition)
        return self.pending_revocation.get(topic_id, {}).get(partition) if epoch is None else epoch


class Target(NamedTuple):
    """What a member is to have, as of that epoch."""

    epoch: int
    assignment: Assignment


class TopicPartitions(NamedTuple):
    """What a member says that it holds."""

    topic_id: UUID
    partitions: Sequence[int]


def owns_only(owned: Iterable[TopicPartitions] | None, assigned: OwnedPartitions) -> bool:
    """Is what a member holds a part of what it has? Not if it does not say."""
    if owned is None:
        return False
    return all(
        topic.topic_id in assigned and assigned[topic.topic_id].keys() >= set(topic.partitions) for topic in owned
    )


def with_epochs(assignment: Assignment, epoch: int) -> OwnedPartitions:
    return {topic_id: dict.fromkeys(sorted(partitions), epoch) for topic_id, partitions in assignment.items()}


def without_epochs(owned: OwnedPartitions) -> Assignment:
    return {topic_id: frozenset(partitions) for topic_id, partitions in owned.items()}
