"""Classic members of a consumer group: their JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

Theory   No member waits for others. If a member has partitions to give up or to take, its heartbeat gets
         REBALANCE_IN_PROGRESS. Then it joins, which does what a heartbeat of the consumer protocol would do. Its epoch
         is the generation. SyncGroup returns its partitions. Each of these steps may take the rebalance timeout. There
         is no leader: the broker assigns.
Source   group-coordinator/.../GroupMetadataManager.java classicGroupJoinToConsumerGroup,
         classicGroupSyncToConsumerGroup, classicGroupHeartbeatToConsumerGroup, classicGroupLeaveToConsumerGroup @ 4.4.
"""

from __future__ import annotations

from typing import final

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.groups.classic.messages import (
    HeartbeatRequest,
    JoinAnswer,
    JoinRequest,
    LeaveAnswer,
    LeaveRequest,
    LeavingMember,
    LeftMember,
    Reply,
    SyncAnswer,
    SyncRequest,
)
from fakebroker.core.groups.classic.tools import NOTHING, Done
from fakebroker.core.groups.consumer.leaving import Leaving
from fakebroker.core.groups.consumer.membership import (
    check_group_is_not_full,
    check_instance_is_not_fenced,
    new_member_id,
    replace_member,
    static_member,
)
from fakebroker.core.groups.consumer.migration.downgrade import Downgrade, protocol_assignment
from fakebroker.core.groups.consumer.pattern_subscriptions import PatternSubscriptions, RegexChange
from fakebroker.core.groups.consumer.rebalancing import Change, Rebalancing
from fakebroker.core.groups.consumer.state import records as make
from fakebroker.core.groups.consumer.state.group import PROTOCOL_TYPE, ConsumerGroup
from fakebroker.core.groups.consumer.state.member import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMember,
    MemberState,
    without_epochs,
)
from fakebroker.core.groups.consumer.state.topics import as_topic_partitions, by_id
from fakebroker.core.groups.consumer.tools import MIGRATION_POLICIES, ConsumerTools
from fakebroker.core.journal.group_events import MemberJoined
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import InvalidRecordError, KafkaError
from fakebroker.protocol.group_records.consumer_protocol import Subscription, decode_subscription, version_of
from fakebroker.protocol.group_records.many_names import as_names


@final
class ClassicMembers:
    """The classic members of a partition's consumer groups. Raises KafkaError with the error code of the response."""

    def __init__(
        self,
        tools: ConsumerTools,
        leaving: Leaving,
        rebalancing: Rebalancing,
        patterns: PatternSubscriptions,
        downgrade: Downgrade,
    ) -> None:
        self._tools = tools
        self._leaving = leaving
        self._timeouts = leaving.timeouts
        self._rebalancing = rebalancing
        self._patterns = patterns
        self._downgrade = downgrade

    # JoinGroup.

    def join(self, request: JoinRequest, reply: Reply[JoinAnswer]) -> Done:
        """Join a consumer group that has members."""
        group = self._tools.consumer_group(request.group_id)
        instance_id = request.group_instance_id
        self._check_migration(group)
        member_id = request.member_id or new_member_id(self._tools.random_uuid)
        is_new = member_id not in group.members
        check_group_is_not_full(group, member_id, instance_id, self._tools.max_size)
        _check_protocols(group, member_id, request)
        if request.requires_known_member_id and instance_id is None and not request.member_id:
            reply.complete(JoinAnswer(ErrorCode.member_id_required, member_id))
            return NOTHING
        records: list[CoordinatorRecord] = []
        old = _joining_member(group, member_id, instance_id, not request.member_id, records)
        existing = group.members.by_instance(instance_id)
        is_downgrade = existing is not None and self._downgrade.is_last_one_replaced(group, existing)
        subscription = _subscription(request)
        change = Change(group, old, _as_joined(old, request, subscription), records, request.may_describe)
        if is_new:
            probe = self._tools.probe
            if probe.listeners:
                probe.tell(MemberJoined(*probe.times, group.group_id, member_id, instance_id, request.client_id))
        member = self._rejoin(change, subscription, is_downgrade)
        assert member.classic is not None
        answer = JoinAnswer(
            member_id=member.member_id,
            generation_id=member.member_epoch,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=member.classic.protocols[0].name,
        )

        def on_complete(error: KafkaError | None) -> None:
            if error is not None:
                return
            self._timeouts.cancel_join(group.group_id, answer.member_id)
            if not is_downgrade:
                self._timeouts.expect_heartbeat(group.group_id, answer.member_id, request.session_timeout_ms)
                self._timeouts.expect_sync(group.group_id, answer.member_id, request.rebalance_timeout_ms)
            reply.complete(answer)

        return CoordinatorResult(records, None, on_complete, not is_downgrade)

    def _rejoin(self, change: Change, subscription: Subscription, is_downgrade: bool) -> ConsumerGroupMember:
        """Return the member after its next step."""
        group, records = change.group, change.records
        if change.new != change.old:
            records.append(make.member_metadata(group.group_id, change.new))
        have_names_changed = change.new.topic_names != change.old.topic_names
        has_changed = self._patterns.update(change) is not RegexChange.NONE or have_names_changed
        owned = as_topic_partitions(by_id(dict(subscription.owned_partitions), self._tools.topics))
        epoch = self._rebalancing.epoch(change, has_changed)
        if not is_downgrade:
            target = self._rebalancing.target(change, epoch)
            return self._rebalancing.reconcile(change, target, has_changed, owned)
        member, reason = change.new, None
        if group.target_epoch.epoch < epoch.epoch:
            reason = f"Downgrade group {group.group_id} from consumer to classic with stale assignment."
        else:
            member = self._rebalancing.reconcile(change, group.target_of(member), has_changed, owned)
        records += self._downgrade.convert(group, (), member, reason)
        return member

    def _check_migration(self, group: ConsumerGroup) -> None:
        if self._tools.migration == MIGRATION_POLICIES["disabled"]:
            raise KafkaError(
                ErrorCode.inconsistent_group_protocol,
                f"Cannot join the consumer group {group.group_id} with the classic protocol because the group "
                "migration is disabled.",
            )

    # SyncGroup.

    def sync(self, request: SyncRequest, reply: Reply[SyncAnswer]) -> Done:
        group = self._tools.consumer_group(request.group_id)
        member, classic = _classic_member(group, request.member_id, request.group_instance_id)
        _check_generation(member, request.generation_id)
        _check_same_protocol(member, classic, request)
        if group.target_epoch.epoch > member.member_epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._timeouts.expect_join(group.group_id, member)
            raise KafkaError(
                ErrorCode.rebalance_in_progress,
                f"A new rebalance is triggered in group {group.group_id} and member {member.member_id} should rejoin "
                "to catch up.",
            )

        def on_complete(error: KafkaError | None) -> None:
            if error is not None:
                return
            self._timeouts.cancel_sync(group.group_id, member.member_id)
            self._timeouts.expect_heartbeat(group.group_id, member.member_id, classic.session_timeout_ms)
            version = version_of(classic.protocols[0].metadata)
            assignment = protocol_assignment(without_epochs(member.assigned), version, self._tools.topics)
            reply.complete(SyncAnswer(ErrorCode.none, request.protocol_type, request.protocol_name, assignment))

        return CoordinatorResult((), None, on_complete, False)

    # Heartbeat.

    def heartbeat(self, request: HeartbeatRequest) -> CoordinatorResult[ErrorCode]:
        group = self._tools.consumer_group(request.group_id)
        member, classic = _classic_member(group, request.member_id, request.group_instance_id)
        _check_generation(member, request.generation_id)
        self._timeouts.expect_heartbeat(group.group_id, member.member_id, classic.session_timeout_ms)
        is_something_released = member.state is MemberState.UNRELEASED_PARTITIONS and not group.is_waiting_for_others(
            member
        )
        if (
            member.member_epoch < group.target_epoch.epoch
            or member.state is MemberState.UNREVOKED_PARTITIONS
            or is_something_released
        ):
            self._timeouts.expect_join(group.group_id, member)
            return CoordinatorResult((), ErrorCode.rebalance_in_progress)
        return CoordinatorResult((), ErrorCode.none)

    # LeaveGroup.

    def leave(self, request: LeaveRequest) -> CoordinatorResult[LeaveAnswer]:
        """Remove the named members, also those of the consumer protocol."""
        group = self._tools.consumer_group(request.group_id)
        answers: list[LeftMember] = []
        leaving: dict[str, ConsumerGroupMember] = {}
        for requested in request.members:
            try:
                member = _leaving_member(group, requested)
            except KafkaError as error:
                answers.append(LeftMember(requested.member_id, requested.group_instance_id, error.code))
            else:
                answers.append(LeftMember(requested.member_id, requested.group_instance_id))
                leaving[member.member_id] = member
        return self._leaving.fence(group, list(leaving.values()), LeaveAnswer(members=tuple(answers)))


def _check_protocols(group: ConsumerGroup, member_id: str, request: JoinRequest) -> None:
    names = [protocol.name for protocol in request.protocols]
    if request.protocol_type != PROTOCOL_TYPE or not group.members.do_all_classic_support_any(names):
        raise KafkaError(ErrorCode.inconsistent_group_protocol, f"Member {member_id}'s protocols are not supported.")


def _joining_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, is_unknown: bool, records: list[CoordinatorRecord]
) -> ConsumerGroupMember:
    if instance_id is None:
        return group.members.get(member_id) or ConsumerGroupMember(member_id)
    if not is_unknown:
        member = static_member(group, instance_id)
        check_instance_is_not_fenced(member, member_id, instance_id)
        return member
    existing = group.members.by_instance(instance_id)
    if existing is None:
        return ConsumerGroupMember(member_id)
    return replace_member(group, existing, member_id, records)


def _subscription(request: JoinRequest) -> Subscription:
    try:
        return decode_subscription(request.protocols[0].metadata)
    except InvalidRecordError:
        raise KafkaError(
            ErrorCode.inconsistent_group_protocol,
            "Malformed embedded consumer protocol in subscription deserialization.",
        ) from None


def _as_joined(old: ConsumerGroupMember, request: JoinRequest, subscription: Subscription) -> ConsumerGroupMember:
    timeout_ms = request.rebalance_timeout_ms
    return old._replace(
        instance_id=old.instance_id if request.group_instance_id is None else request.group_instance_id,
        rack_id=subscription.rack_id or old.rack_id,
        rebalance_timeout_ms=old.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topic_names=as_names(subscription.topics),
        topic_regex="",
        client_id=request.client_id,
        client_host=request.client_host,
        classic=ClassicMemberMetadata(
            request.session_timeout_ms,
            tuple(ClassicProtocol(protocol.name, protocol.metadata) for protocol in request.protocols),
        ),
    )


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[ConsumerGroupMember, ClassicMemberMetadata]:
    if instance_id is None:
        member = group.member(member_id)
    else:
        static_member = group.members.by_instance(instance_id)
        if static_member is None:
            raise KafkaError(
                ErrorCode.unknown_member_id,
                f"Member with instance id {instance_id} is not a member of group {group.group_id}.",
            )
        check_instance_is_not_fenced(static_member, member_id, instance_id)
        member = static_member
    if member.classic is None:
        raise KafkaError(ErrorCode.unknown_member_id, f"Member {member.member_id} does not use the classic protocol.")
    return member, member.classic


def _check_generation(member: ConsumerGroupMember, generation_id: int) -> None:
    if member.member_epoch != generation_id:
        raise KafkaError(
            ErrorCode.illegal_generation,
            f"The request generation id {generation_id} is not equal to the member epoch {member.member_epoch} of "
            f"member {member.member_id}.",
        )


def _check_same_protocol(member: ConsumerGroupMember, classic: ClassicMemberMetadata, request: SyncRequest) -> None:
    name = classic.protocols[0].name
    if request.protocol_type is not None and request.protocol_type != PROTOCOL_TYPE:
        raise KafkaError(
            ErrorCode.inconsistent_group_protocol,
            f"The protocol type {request.protocol_type} from member {member.member_id} request is not equal to the "
            f"group protocol type {PROTOCOL_TYPE}.",
        )
    if request.protocol_name is not None and request.protocol_name != name:
        raise KafkaError(
            ErrorCode.inconsistent_group_protocol,
            f"The protocol name {request.protocol_name} from member {member.member_id} request is not equal to the "
            f"protocol name {name} returned in the join response.",
        )


def _leaving_member(group: ConsumerGroup, leaving: LeavingMember) -> ConsumerGroupMember:
    if leaving.group_instance_id is None:
        return group.member(leaving.member_id)
    member = static_member(group, leaving.group_instance_id)
    if leaving.member_id:
        check_instance_is_not_fenced(member, leaving.member_id, leaving.group_instance_id)
    return member
