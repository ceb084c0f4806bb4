"""ConsumerGroupHeartbeat: members join, report changes and their partitions, and get their assignments.

Source   group-coordinator/.../GroupMetadataManager.java consumerGroupHeartbeat; .../GroupCoordinatorService.java
         throwIfConsumerGroupHeartbeatRequestIsInvalid @ 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.groups.consumer.leaving import Leaving
from fakebroker.core.groups.consumer.membership import check_group_is_not_full, member_of_heartbeat, new_member_id
from fakebroker.core.groups.consumer.messages import NOT_SAID, ConsumerHeartbeatRequest, HeartbeatAnswer
from fakebroker.core.groups.consumer.pattern_subscriptions import PatternSubscriptions, RegexChange
from fakebroker.core.groups.consumer.rebalancing import Change, Rebalancing
from fakebroker.core.groups.consumer.state import records as make
from fakebroker.core.groups.consumer.state.group import ConsumerGroup
from fakebroker.core.groups.consumer.state.member import JOIN, LEAVE, LEAVE_FOR_A_WHILE, without_epochs
from fakebroker.core.groups.consumer.state.topics import as_topic_partitions
from fakebroker.core.groups.consumer.tools import ConsumerTools
from fakebroker.core.hash_order import hash_map_order
from fakebroker.core.journal.group_events import MemberJoined
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

# Finds the group of a request. A member that joins may create it, or convert a classic group.
FindGroup = Callable[[str, bool, "list[CoordinatorRecord]"], ConsumerGroup]


def validate_heartbeat(request: ConsumerHeartbeatRequest, assignors: Sequence[str]) -> None:
    """Check what needs no group. Raises INVALID_REQUEST, UNSUPPORTED_ASSIGNOR."""
    epoch = request.member_epoch
    if request.version >= 1 or epoch > 0 or epoch == LEAVE:
        _check(not _is_blank(request.member_id), "MemberId can't be empty.")
    _check(not _is_blank(request.group_id), "GroupId can't be empty.")
    _check(not _is_blank(request.instance_id), "InstanceId can't be empty.")
    _check(not _is_blank(request.rack_id), "RackId can't be empty.")
    if epoch == JOIN:
        _check(request.rebalance_timeout_ms != NOT_SAID, "RebalanceTimeoutMs must be provided in first request.")
        _check(request.owned is not None and not request.owned, "TopicPartitions must be empty when (re-)joining.")
        _check(
            request.topic_names is not None or request.topic_regex is not None,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        )
    elif epoch == LEAVE_FOR_A_WHILE:
        _check(request.instance_id is not None, "InstanceId can't be null.")
    else:
        _check(epoch > LEAVE_FOR_A_WHILE, "MemberEpoch is invalid.")
    if request.assignor is not None and request.assignor not in assignors:
        supported = ", ".join(hash_map_order(assignors))
        raise KafkaError(
            ErrorCode.unsupported_assignor,
            f"ServerAssignor {request.assignor} is not supported. Supported assignors: {supported}.",
        )


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise KafkaError(ErrorCode.invalid_request, otherwise)


def _is_blank(text: str | None) -> bool:
    """Return True for a text that Java's trim makes empty: characters up to the space."""
    return text is not None and all(char <= " " for char in text)


@final
class Heartbeats:
    """The heartbeats to the groups of a partition."""

    def __init__(
        self,
        tools: ConsumerTools,
        find_group: FindGroup,
        leaving: Leaving,
        rebalancing: Rebalancing,
        patterns: PatternSubscriptions,
    ) -> None:
        self._tools = tools
        self._find_group = find_group
        self._leaving = leaving
        self._rebalancing = rebalancing
        self._patterns = patterns

    def heartbeat(self, request: ConsumerHeartbeatRequest) -> CoordinatorResult[HeartbeatAnswer]:
        """Handle a validated heartbeat."""
        if request.member_epoch in (LEAVE, LEAVE_FOR_A_WHILE):
            return self._leaving.leave(request)
        tools, group_id = self._tools, request.group_id
        is_joining = request.member_epoch == JOIN
        records: list[CoordinatorRecord] = []
        group = self._find_group(group_id, is_joining, records)
        check_group_is_not_full(group, request.member_id, request.instance_id, tools.max_size)
        member_id = request.member_id or new_member_id(tools.random_uuid)
        is_new = member_id not in group.members
        old = member_of_heartbeat(group, member_id, request.member_epoch, request.instance_id, request.owned, records)
        names = request.topic_names
        change = Change(
            group,
            old,
            old._replace(
                instance_id=old.instance_id if request.instance_id is None else request.instance_id,
                rack_id=old.rack_id if request.rack_id is None else request.rack_id,
                rebalance_timeout_ms=(
                    old.rebalance_timeout_ms
                    if request.rebalance_timeout_ms == NOT_SAID
                    else request.rebalance_timeout_ms
                ),
                assignor=old.assignor if request.assignor is None else request.assignor,
                topic_names=old.topic_names if names is None else names,
                topic_regex=old.topic_regex if request.topic_regex is None else request.topic_regex,
                client_id=request.client_id,
                client_host=request.client_host,
                classic=None,
            ),
            records,
            request.may_describe,
        )
        if is_new:
            probe = tools.probe
            if probe.listeners:
                instance_id, client_id = change.new.instance_id, request.client_id
                probe.tell(MemberJoined(*probe.times, group_id, member_id, instance_id, client_id))
        if change.new != old:
            records.append(make.member_metadata(group_id, change.new))
        have_names_changed = change.new.topic_names != old.topic_names
        regex = self._patterns.update(change)
        bump = (
            have_names_changed
            or regex is RegexChange.UPDATED_AND_RESOLVED
            or self._has_preferred_assignor_changed(change)
        )
        epoch = self._rebalancing.epoch(change, bump)
        target = self._rebalancing.target(change, epoch)
        has_subscription_changed = have_names_changed or regex is not RegexChange.NONE
        member = self._rebalancing.reconcile(change, target, has_subscription_changed, request.owned)
        self._leaving.timeouts.expect_heartbeat(group_id, member_id)
        is_told = is_joining or request.is_full or member.assigned != old.assigned
        return CoordinatorResult(
            records,
            HeartbeatAnswer(
                member.member_id,
                member.member_epoch,
                tools.config_of(group_id).heartbeat_interval_ms,
                as_topic_partitions(without_epochs(member.assigned)) if is_told else None,
            ),
        )

    def _has_preferred_assignor_changed(self, change: Change) -> bool:
        members, default = change.group.members, self._tools.default_assignor
        before = members.preferred_assignor() or default
        return before != (members.preferred_assignor_if(change.old, change.new) or default)
