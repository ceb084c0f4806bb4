"""A classic group: its state, its generation, its protocol, and the requests that it accepts.

Theory   One object lives as long as the group. It is changed in place, and the record of a generation is written
         afterwards. An invalid transition of states is a bug, and raises ValueError. The members are in roster.py.
Units    milliseconds; the timestamp of the state is wall time.
Source   group-coordinator/.../classic/ClassicGroup.java @ 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, final
from uuid import UUID

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.timeline import LATEST
from fakebroker.core.groups.classic.member import ClassicGroupMember
from fakebroker.core.groups.classic.messages import DescribedGroup, JoinAnswer, JoinedMember, Reply
from fakebroker.core.groups.classic.protocols import CONSUMER, subscribed_topics
from fakebroker.core.groups.classic.roster import Roster
from fakebroker.core.groups.classic.states import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    VALID_PREVIOUS_STATES,
    ClassicGroupState,
)
from fakebroker.core.groups.group import CommittedAt, ExpirationCondition, Group, GroupType, ListedGroup
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.group_records.group_metadata import GroupMetadataKey
from fakebroker.protocol.group_records.many_names import Names


@final
class ClassicGroup(Group):
    """A classic group. `subscribed_topics` is None if unknown: the members are no consumers, or their subscriptions
    cannot be read. `roster` has the members, and those that the group waits for."""

    type: ClassVar[GroupType] = GroupType.CLASSIC

    def __init__(
        self,
        group_id: str,
        state: ClassicGroupState,
        state_timestamp_ms: int | None,
        generation_id: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        leader_id: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.state = state
        self.previous_state = DEAD
        self.state_timestamp_ms = state_timestamp_ms
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.roster = Roster(leader_id)
        self.new_member_added = False  # until the first generation begins
        self.subscribed_topics: Sequence[Names] | None = None

    @property
    def members(self) -> dict[str, ClassicGroupMember]:
        """The members by id, oldest first."""
        return self.roster.members

    @property
    def leader_id(self) -> str | None:
        return self.roster.leader_id

    def add(self, member: ClassicGroupMember, reply: Reply[JoinAnswer] | None = None) -> None:
        """Add a member; the first one decides the protocol type. The group must support its protocols (`supports`)."""
        if not self.members:
            self.protocol_type = member.protocol_type
        self.roster.add(member, reply)

    # Its state.

    def transition_to(self, state: ClassicGroupState, wall_ms: int) -> None:
        """Raise ValueError if the table of states does not allow the transition."""
        if self.state not in VALID_PREVIOUS_STATES[state]:
            raise ValueError(f"group {self.group_id} may not become {state.value} while it is {self.state.value}")
        self.previous_state = self.state
        self.state = state
        self.state_timestamp_ms = wall_ms

    @property
    def can_rebalance(self) -> bool:
        return self.state in VALID_PREVIOUS_STATES[PREPARING_REBALANCE]

    def init_next_generation(self, wall_ms: int) -> None:
        """Raise KafkaError if no protocol can be chosen. The generation is incremented by then, and the members keep
        waiting, as in Kafka."""
        self.generation_id += 1
        self.protocol_name = self.roster.select_protocol() if self.members else None
        self.subscribed_topics = self.compute_subscribed_topics()
        self.transition_to(COMPLETING_REBALANCE if self.members else EMPTY, wall_ms)
        self.roster.clear_pending_sync()

    # Protocols.

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Return True if a member with this protocol type and these protocols may join."""
        if self.state is EMPTY:
            return bool(protocol_type) and any(True for _ in names)
        return self.protocol_type == protocol_type and self.roster.any_is_known_to_all(names)

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER

    def compute_subscribed_topics(self) -> Sequence[Names] | None:
        if self.protocol_type != CONSUMER:
            return None
        if not self.members:
            return ()
        return None if self.protocol_name is None else subscribed_topics(self.members.values(), self.protocol_name)

    # Descriptions of the group, for responses.

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """Return the members with their metadata, for the JoinGroup response to the leader."""
        return tuple(
            JoinedMember(member.member_id, member.group_instance_id, member.metadata(self.protocol_name))
            for member in self.members.values()
        )

    def describe(self) -> DescribedGroup:
        is_stable = self.state is STABLE
        shown = self.protocol_name if is_stable else None
        return DescribedGroup(
            ErrorCode.none,
            self.group_id,
            self.state.value,
            self.protocol_type or "",
            shown or "",
            tuple(member.describe(shown) for member in self.members.values()),
        )

    def state_name(self, committed_offset: int = LATEST) -> str:
        return self.state.value

    def as_listed_group(self, committed_offset: int) -> ListedGroup:
        return ListedGroup(self.group_id, self.protocol_type or "", self.state.value, self.type.value)

    def is_in_states(self, states: set[str], committed_offset: int) -> bool:
        return self.state.value.lower() in states

    @property
    def is_empty(self) -> bool:
        return self.state is EMPTY

    @property
    def is_dead(self) -> bool:
        return self.state is DEAD

    def is_subscribed_to_topic(self, topic: str) -> bool:
        """Return True if a consumer may be subscribed to the topic. Unknown subscriptions of consumers count as
        subscribed."""
        topics = self.subscribed_topics
        return self.uses_consumer_protocol if topics is None else any(topic in subscription for subscription in topics)

    # Validation of requests, and the expiration of offsets.

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        is_transactional: bool,
        version: int,
    ) -> Callable[[str, int], None] | None:
        if self.state is DEAD:
            raise _error(ErrorCode.coordinator_not_available)
        if generation_or_epoch < 0 and self.state is EMPTY:
            return None  # an admin client commits for a group without members
        if generation_or_epoch >= 0 or member_id or group_instance_id is not None:
            self.roster.validate_member(member_id, group_instance_id)
            if generation_or_epoch != self.generation_id:
                raise _error(ErrorCode.illegal_generation)
        elif not is_transactional and self.state is not EMPTY:
            raise _error(ErrorCode.unknown_member_id)
        if not is_transactional and self.state is COMPLETING_REBALANCE:
            raise _error(ErrorCode.rebalance_in_progress)
        return None

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int, committed_offset: int) -> None:
        self._refuse_if_dead()

    def validate_offset_delete(self) -> None:
        self._refuse_if_dead()
        if self.state is not EMPTY and not self.uses_consumer_protocol:
            raise _error(ErrorCode.non_empty_group)

    def validate_delete_group(self) -> None:
        self._refuse_if_dead()
        if self.state is not EMPTY:
            raise _error(ErrorCode.non_empty_group)

    def create_group_tombstone_records(self) -> list[CoordinatorRecord]:
        return [CoordinatorRecord(GroupMetadataKey(self.group_id), None)]

    def offset_expiration_condition(self) -> ExpirationCondition | None:
        """Return how offsets expire: from the time at which the group became empty, if that is known. Groups that only
        commit, and topics without subscribers, count from the commit."""
        if self.protocol_type is None:
            return _expires_since_commit
        if self.state is EMPTY:
            since_ms = self.state_timestamp_ms
            if since_ms is None:
                return _expires_since_commit
            return lambda offset, retention_ms: _expires_ms(offset, since_ms, retention_ms)
        if self.uses_consumer_protocol and self.subscribed_topics is not None and self.state is STABLE:
            return _expires_since_commit
        return None

    def _refuse_if_dead(self) -> None:
        if self.state is DEAD:
            raise KafkaError(ErrorCode.group_id_not_found, f"Group {self.group_id} is in dead state.")


def generate_member_id(client_id: str, instance_id: str | None, uuid: UUID) -> str:
    """Return the id of a new member. `uuid` is random."""
    return f"{client_id if instance_id is None else instance_id}-{uuid}"


def _expires_since_commit(offset: CommittedAt, retention_ms: int) -> int:
    return _expires_ms(offset, offset.commit_timestamp_ms, retention_ms)


def _expires_ms(offset: CommittedAt, since_ms: int, retention_ms: int) -> int:
    """Return the time at which the offset expires. An expire timestamp of its own wins over `retention_ms`."""
    if offset.expire_timestamp_ms is not None:
        return offset.expire_timestamp_ms
    return since_ms + retention_ms


def _error(code: ErrorCode) -> KafkaError:
    return KafkaError(code, kafka_name(code))
