"""A consumer group (KIP-848): its members, their epochs and what each is to have. All of it is in records.

Theory   The group has an epoch, which grows with everything that may ask for other assignments. The target assignment
         has the epoch of the group for which it was made; each member has that of the target which it has reached.
           Empty        no members
           Assigning    the target is older than the group
           Reconciling  a member has not reached the target
           Stable       all have
Units    times are wall milliseconds.
Source   group-coordinator/.../modern/ModernGroup.java, .../modern/consumer/ConsumerGroup.java @ 4.4.
Differs  The state is worked out when somebody asks, and not with each change of a member. Whether the topics have
         changed a group asks when a member calls; it is not told.
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
    Target,
)
from fakebroker.core.groups.consumer.state.members import Members
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
    """By the name that clients are told."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class TargetEpoch(NamedTuple):
    """For which epoch of the group the target was made, and when; 0 if it was not made by an assignor."""

    epoch: int = 1
    timestamp_ms: int = 0


@final
class ConsumerGroup(Group):
    """What its records say."""

    type: ClassVar[GroupType] = GroupType.CONSUMER

    def __init__(self, registry: SnapshotRegistry, group_id: str, topics: Topics) -> None:
        self.group_id = group_id
        self.members = Members(registry)
        self._topics = topics
        self._epoch: TimelineValue[int] = TimelineValue(registry, 1)
        self._metadata_hash: TimelineValue[int] = TimelineValue(registry, 0)
        self._target_epoch: TimelineValue[TargetEpoch] = TimelineValue(registry, TargetEpoch())
        self._targets: TimelineDict[str, Assignment] = TimelineDict(registry)
        self._has_subscription_metadata: TimelineValue[bool] = TimelineValue(registry, False)
        self._checked_changes = -1  # up to which change of the topics the hash is known to be right
        self._checked_epoch = 0

    # Epochs and what they are of.

    @property
    def epoch(self) -> int:
        return self._epoch.get()

    @property
    def metadata_hash(self) -> int:
        """Of the topics to which it is subscribed, when it was last bumped."""
        return self._metadata_hash.get()

    @property
    def target_epoch(self) -> TargetEpoch:
        return self._target_epoch.get()

    @property
    def has_subscription_metadata(self) -> bool:
        """Is there still a record of Kafka 4.0 that is to go?"""
        return self._has_subscription_metadata.get()

    def epochs_at(self, committed_offset: int) -> tuple[int, int]:
        """Of the group and of its target."""
        return self._epoch.get(committed_offset), self._target_epoch.get(committed_offset).epoch

    def target(self, member_id: str, committed_offset: int = LATEST) -> Assignment:
        return self._targets.get(member_id, committed_offset) or NO_PARTITIONS

    def target_of(self, member: ConsumerGroupMember) -> Target:
        """What a member is to have; of a static one, what its instance is to have."""
        known = member if member.instance_id is None else self.members.by_instance(member.instance_id)
        return Target(self.target_epoch.epoch, NO_PARTITIONS if known is None else self.target(known.member_id))

    def targets(self) -> dict[str, Assignment]:
        return dict(self._targets.items())

    def has_target(self, member_id: str) -> bool:
        return member_id in self._targets

    @property
    def has_targets(self) -> bool:
        return len(self._targets) > 0

    def is_waiting_for_others(self, member: ConsumerGroupMember) -> bool:
        """Is anything that a member is to have still with somebody else?"""
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

    # Whether its topics may have changed; in no record.

    def may_have_other_topics(self) -> bool:
        """Since somebody last looked. What was found and then not committed does not count."""
        return self._checked_changes != self._topics.changes or self.epoch < self._checked_epoch

    def set_topics_checked(self, epoch: int) -> None:
        """The hash is that of the topics as they are, with that epoch of the group."""
        self._checked_changes, self._checked_epoch = self._topics.changes, epoch

    # What all groups have.

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
        """Raises UNKNOWN_MEMBER_ID."""
        found = self.members.get(member_id)
        if found is None:
            raise self._unknown(member_id)
        return found

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
            raise KafkaError(ErrorCode.unknown_server_error, "An epoch without a member.")  # Kafka trips over it
        member = self.members.get(member_id, committed_offset)
        if member is None:
            raise self._unknown(member_id)
        validate_fetch_epoch(member, member_epoch)

    def validate_offset_delete(self) -> None:
        """Of topics to which nobody is subscribed it may be done at any time."""

    def validate_delete_group(self) -> None:
        if not self.is_empty:
            raise KafkaError(ErrorCode.non_empty_group, "The group is not empty.")

    def is_subscribed_to_topic(self, topic: str) -> bool:
        return self.members.is_subscribed_to(topic)

    def create_group_tombstone_records(self) -> list[CoordinatorRecord]:
        return self.tombstones(None, None)

    def tombstones(self, leaving_id: str | None, joining_id: str | None) -> list[CoordinatorRecord]:
        """The same; a member that leaves goes by the id of the one that takes its place."""
        ids = [member.member_id for member in self.members.all()]
        gone = [joining_id if id_ == leaving_id and joining_id is not None else id_ for id_ in timeline_order(ids)]
        return records.no_group(self.group_id, gone, self.members.all_resolved())

    def offset_expiration_condition(self) -> ExpirationCondition | None:
        """An offset's age is that of its commit."""

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
