"""The replay of records: those that a coordinator writes, and those that it reads from the log when it takes over.

Theory   Compaction may have reordered records, and they may come twice. The first record with a value creates the
         group. A tombstone of something unknown does nothing. The tombstone of kind 3 removes a group, after all its
         other tombstones; another order is a bug.
Source   group-coordinator/.../GroupMetadataManager.java replay, getOrMaybeCreatePersistedConsumerGroup @ 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from fakebroker.core.groups.consumer.state import records
from fakebroker.core.groups.consumer.state.group import UNKNOWN_EPOCH, ConsumerGroup
from fakebroker.core.groups.consumer.state.member import NOTHING_OWNED, ConsumerGroupMember, MemberState
from fakebroker.core.groups.consumer.state.topics import ResolvedRegularExpression
from fakebroker.protocol.group_records.consumer_group import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from fakebroker.protocol.group_records.many_names import as_names


@final
class Replay:
    """The replay of records. `find` returns a group, or None; on request it creates one. `remove` removes it."""

    def __init__(self, find: Callable[[str, bool], ConsumerGroup | None], remove: Callable[[str], None]) -> None:
        self._find = find
        self._remove = remove
        self._by_kind: dict[type, Callable[[ConsumerGroup, Any, Any], None]] = {
            ConsumerGroupMetadataKey: self._group,
            ConsumerGroupPartitionMetadataKey: self._subscription_metadata,
            ConsumerGroupMemberMetadataKey: self._member,
            ConsumerGroupTargetAssignmentMetadataKey: self._target_epoch,
            ConsumerGroupTargetAssignmentMemberKey: self._target,
            ConsumerGroupCurrentMemberAssignmentKey: self._current,
            ConsumerGroupRegularExpressionKey: self._regular_expression,
        }

    @property
    def kinds(self) -> frozenset[type]:
        """Return the classes of record keys that it replays."""
        return frozenset(self._by_kind)

    def replay(self, key: Any, value: Any) -> None:
        """Replay a record; a `value` of None is a tombstone. Raises ValueError if the records contradict one
        another."""
        group = self._find(key.group_id, value is not None)
        if group is not None:
            self._by_kind[type(key)](group, key, value)

    def _group(
        self, group: ConsumerGroup, key: ConsumerGroupMetadataKey, value: ConsumerGroupMetadataValue | None
    ) -> None:
        if value is not None:
            group.set_epoch(value.epoch, value.metadata_hash)
            return
        for is_left, what in (
            (len(group.members) > 0, "members"),
            (group.has_targets, "target assignments"),
            (group.target_epoch.epoch != UNKNOWN_EPOCH, "a target assignment epoch"),
        ):
            if is_left:
                raise ValueError(f"a tombstone of group {key.group_id}, which still has {what}")
        self._remove(key.group_id)

    def _subscription_metadata(
        self,
        group: ConsumerGroup,
        key: ConsumerGroupPartitionMetadataKey,
        value: ConsumerGroupPartitionMetadataValue | None,
    ) -> None:
        group.set_has_subscription_metadata(value is not None)

    def _member(
        self,
        group: ConsumerGroup,
        key: ConsumerGroupMemberMetadataKey,
        value: ConsumerGroupMemberMetadataValue | None,
    ) -> None:
        old = group.members.get(key.member_id)
        if value is not None:
            before = old or ConsumerGroupMember(key.member_id)
            names = as_names(value.subscribed_topic_names)
            group.members.update(
                before._replace(
                    instance_id=value.instance_id,
                    rack_id=value.rack_id,
                    client_id=value.client_id,
                    client_host=value.client_host,
                    topic_names=before.topic_names if names == before.topic_names else names,
                    topic_regex=value.subscribed_topic_regex,
                    rebalance_timeout_ms=value.rebalance_timeout_ms,
                    assignor=value.server_assignor,
                    classic=records.classic_metadata(value.classic_member_metadata),
                )
            )
        elif old is not None:
            if old.member_epoch != UNKNOWN_EPOCH or group.has_target(key.member_id):
                raise ValueError(f"a tombstone of member {key.member_id}, which still has an assignment")
            group.members.remove(key.member_id)

    def _target_epoch(
        self,
        group: ConsumerGroup,
        key: ConsumerGroupTargetAssignmentMetadataKey,
        value: ConsumerGroupTargetAssignmentMetadataValue | None,
    ) -> None:
        if value is not None:
            group.set_target_epoch(value.assignment_epoch, value.assignment_timestamp_ms)
            return
        if group.has_targets:
            raise ValueError(f"a tombstone of the target of group {key.group_id}, which still has some")
        group.set_target_epoch(UNKNOWN_EPOCH, 0)

    def _target(
        self,
        group: ConsumerGroup,
        key: ConsumerGroupTargetAssignmentMemberKey,
        value: ConsumerGroupTargetAssignmentMemberValue | None,
    ) -> None:
        if value is None:
            group.remove_target(key.member_id)
        else:
            assignment = {topic.topic_id: frozenset(topic.partitions) for topic in value.topic_partitions}
            group.set_target(key.member_id, assignment)

    def _current(
        self,
        group: ConsumerGroup,
        key: ConsumerGroupCurrentMemberAssignmentKey,
        value: ConsumerGroupCurrentMemberAssignmentValue | None,
    ) -> None:
        old = group.members.get(key.member_id)
        if value is not None:
            group.members.update(
                (old or ConsumerGroupMember(key.member_id))._replace(
                    member_epoch=value.member_epoch,
                    previous_member_epoch=value.previous_member_epoch,
                    state=MemberState.from_value(value.state),
                    assigned=records.owned_partitions(value.assigned_partitions, value.member_epoch),
                    pending_revocation=records.owned_partitions(
                        value.partitions_pending_revocation, value.member_epoch
                    ),
                )
            )
        elif old is not None:
            group.members.update(
                old._replace(
                    member_epoch=UNKNOWN_EPOCH,
                    previous_member_epoch=UNKNOWN_EPOCH,
                    assigned=NOTHING_OWNED,
                    pending_revocation=NOTHING_OWNED,
                )
            )

    def _regular_expression(
        self,
        group: ConsumerGroup,
        key: ConsumerGroupRegularExpressionKey,
        value: ConsumerGroupRegularExpressionValue | None,
    ) -> None:
        resolved = (
            None
            if value is None
            else ResolvedRegularExpression(frozenset(value.topics), value.version, value.timestamp_ms)
        )
        group.members.resolve(key.regular_expression, resolved)
