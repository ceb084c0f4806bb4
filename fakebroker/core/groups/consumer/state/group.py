"""A consumer group (KIP-848): its members, its epochs and its targets. All of it is in records.

Theory   The group has an epoch, which grows with each change that may need other assignments. The target assignment
         has the group epoch for which it was made. Each member has the epoch of the target that it has reached.
           Empty        no members
           Assigning    the target is older than the group
           Reconciling  a member has not reached the target
           Stable       all have
Units    times are wall milliseconds.
Source   group-coordinator/.../modern/ModernGroup.java, .../modern/consumer/ConsumerGroup.java @ 4.4.
Differs  The state is computed on demand, not with each change of a member. Whether topics have changed is checked when
         a member's request arrives; the group gets no notification.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import ClassVar, Final, NamedTuple, final

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.timeline import LATEST, SnapshotRegistry, TimelineDict, TimelineValue
from fakebroker.core.groups.consumer.state import records
from fakebroker.core.groups.consumer.state.member import (
    NO_PARTITIONS,
    Assignment,
    ConsumerGroupMember,
    MemberState,
    TargetAssignment,
)
from fakebroker.core.groups.consumer.state.members import ConsumerGroupMembers
from fakebroker.core.groups.consumer.state.offsets_validation import validate_commit_epoch, validate_fetch_epoch
from fakebroker.core.groups.consumer.state.partition_epochs import NO_OWNER
from fakebroker.core.groups.consumer.state.topics import Topics
from fakebroker.core.groups.group import CommittedAt, ExpirationCondition, Group, GroupType, ListedGroup
from fakebroker.core.hash_order import timeline_order
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

PROTOCOL_TYPE: Final = "consumer"
UNKNOWN_EPOCH: Final = -1


class ConsumerGroupState(Enum):
    """The state of a consumer group. The values are the names in responses."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class TargetEpoch(NamedTuple):
    """The group epoch of the target, and the time at which it was made; 0 if no assignor made it."""

    epoch: int = 1
    timestamp_ms: int = 0


@final
class ConsumerGroup(Group):
    """A consumer group, as its records say."""

    type: ClassVar[GroupType] = GroupType.CONSUMER

    def __init__(self, registry: SnapshotRegistry, group_id: str, topics: Topics) -> None:
        self.group_id = group_id
        self.members = ConsumerGroupMembers(registry)
        self._topics = topics
        self._epoch: TimelineValue[int] = TimelineValue(registry, 1)
        self._metadata_hash: TimelineValue[int] = TimelineValue(registry, 0)
        self._target_epoch: TimelineValue[TargetEpoch] = TimelineValue(registry, TargetEpoch())
        self._targets: TimelineDict[str, Assignment] = TimelineDict(registry)
        self._has_subscription_metadata: TimelineValue[bool] = TimelineValue(registry, False)
        self._checked_changes = -1  # number of the last topic change for which the hash is right
        self._checked_epoch = 0

    # Epochs and targets.

    @property
    def epoch(self) -> int:
        return self._epoch.get()

    @property
    def metadata_hash(self) -> int:
        """Return the hash of the subscribed topics, as of the last epoch bump."""
        return self._metadata_hash.get()

    @property
    def target_epoch(self) -> TargetEpoch:
        return self._target_epoch.get()

    @property
    def has_subscription_metadata(self) -> bool:
        """Return True if a record of Kafka 4.0 is still to be deleted."""
        return self._has_subscription_metadata.get()

    def epochs_at(self, committed_offset: int) -> tuple[int, int]:
        """Return the epochs of the group and of its target."""
        return self._epoch.get(committed_offset), self._target_epoch.get(committed_offset).epoch

    def target(self, member_id: str, committed_offset: int = LATEST) -> Assignment:
        return self._targets.get(member_id, committed_offset) or NO_PARTITIONS

    def target_of(self, member: ConsumerGroupMember) -> TargetAssignment:
        """Return the target of a member; that of its instance for a static member."""
        known = member if member.instance_id is None else self.members.by_instance(member.instance_id)
        return TargetAssignment(
            self.target_epoch.epoch, NO_PARTITIONS if known is None else self.target(known.member_id)
        )

    def targets(self) -> dict[str, Assignment]:
        return dict(self._targets.items())

    def has_target(self, member_id: str) -> bool:
        return member_id in self._targets

    @property
    def has_targets(self) -> bool:
        return len(self._targets) > 0

    def is_waiting_for_others(self, member: ConsumerGroupMember) -> bool:
        """Return True if another member still holds a partition of this member's target."""
        return member.state is MemberState.UNRELEASED_PARTITIONS and any(
            self.members.partitions.owner_epoch(topic_id, partition) != NO_OWNER
            for topic_id, partitions in self.target(member.member_id).items()
            for partition in partitions - member.assigned.get(topic_id, {}).keys()
        )

    # Changes by records.

    def set_epoch(self, epoch: int, metadata_hash: int) -> None:
        self._epoch.set(epoch)
        self._metadata_hash.set(metadata_hash)

    def set_target_epoch(self, epoch: int, timestamp_ms: int) -> None:
        self._target_epoch.set(TargetEpoch(epoch, timestamp_ms))

    def set_target(self, member_id: str, assignment: Assignment) -> None:
        self._targets[member_id] = assignment

    def remove_target(self, member_id: str) -> None:
        self._targets.pop(member_id)

    def set_has_subscription_metadata(self, has: bool) -> None:
        self._has_subscription_metadata.set(has)

    # Possible changes of its topics, which are in no record.

    def may_have_other_topics(self) -> bool:
        """Return True if topics may have changed since the last check. A check does not count if its epoch was not
        committed."""
        return self._checked_changes != self._topics.changes or self.epoch < self._checked_epoch

    def set_topics_checked(self, epoch: int) -> None:
        """Note that the hash is right for the present topics, at that group epoch."""
        self._checked_changes, self._checked_epoch = self._topics.changes, epoch

    # The interface of all groups.

    def state(self, committed_offset: int = LATEST) -> ConsumerGroupState:
        epoch, assignment_epoch = self.epochs_at(committed_offset)
        if not self.members.is_any(committed_offset):
            return ConsumerGroupState.EMPTY
        if epoch > assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.is_reconciled_to(assignment_epoch) for member in self.members.all(committed_offset)):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    def state_name(self, committed_offset: int = LATEST) -> str:
        return self.state(committed_offset).value

    def as_listed_group(self, committed_offset: int) -> ListedGroup:
        return ListedGroup(self.group_id, PROTOCOL_TYPE, self.state_name(committed_offset), self.type.value)

    def is_in_states(self, states: set[str], committed_offset: int) -> bool:
        return self.state_name(committed_offset).lower() in states

    def member(self, member_id: str) -> ConsumerGroupMember:
        """Return the member. Raises UNKNOWN_MEMBER_ID."""
        member = self.members.get(member_id)
        if member is None:
            raise self._unknown(member_id)
        return member

    def _unknown(self, member_id: str) -> KafkaError:
        return KafkaError(ErrorCode.unknown_member_id, f"Member {member_id} is not a member of group {self.group_id}.")

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        is_transactional: bool,
        version: int,
    ) -> Callable[[str, int], None] | None:
        if generation_or_epoch < 0 and not len(self.members):
            return None  # an admin client, or a consumer that is assigned its partitions by hand
        if is_transactional and generation_or_epoch == UNKNOWN_EPOCH and not member_id and group_instance_id is None:
            return None
        member = self.member(member_id)
        return validate_commit_epoch(member, generation_or_epoch, is_transactional, version, self._topics)

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int, committed_offset: int) -> None:
        if member_id is None:
            if member_epoch < 0:
                return
            raise KafkaError(ErrorCode.unknown_server_error, "An epoch without a member.")  # Kafka fails here
        member = self.members.get(member_id, committed_offset)
        if member is None:
            raise self._unknown(member_id)
        validate_fetch_epoch(member, member_epoch)

    def validate_offset_delete(self) -> None:
        """Accept always: offsets of topics without subscribers may be deleted at any time."""

    def validate_delete_group(self) -> None:
        if not self.is_empty:
            raise KafkaError(ErrorCode.non_empty_group, "The group is not empty.")

    def is_subscribed_to_topic(self, topic: str) -> bool:
        return self.members.is_subscribed_to(topic)

    def create_group_tombstone_records(self) -> list[CoordinatorRecord]:
        return self.tombstones(None, None)

    def tombstones(self, leaving_id: str | None, joining_id: str | None) -> list[CoordinatorRecord]:
        """Return the tombstones of the group. A member that leaves is named by the id of the member that replaces
        it."""
        ids = [member.member_id for member in self.members.all()]
        gone = [joining_id if id_ == leaving_id and joining_id is not None else id_ for id_ in timeline_order(ids)]
        return records.no_group(self.group_id, gone, self.members.all_resolved())

    def offset_expiration_condition(self) -> ExpirationCondition | None:
        """Count the age of an offset from its commit."""

        def expires_ms(offset: CommittedAt, retention_ms: int) -> int:
            if offset.expire_timestamp_ms is not None:
                return offset.expire_timestamp_ms
            return offset.commit_timestamp_ms + retention_ms

        return expires_ms

    @property
    def is_empty(self) -> bool:
        return len(self.members) == 0

    @property
    def is_dead(self) -> bool:
        return False
