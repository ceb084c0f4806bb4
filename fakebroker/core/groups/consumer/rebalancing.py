"""The consequences of a changed member: a new group epoch, a new target, the member's next step.

Theory   The epoch grows if subscriptions or the subscribed topics have changed. A target that is older than the group's
         epoch is computed anew, but not before the assignment interval has passed. Then the member at hand takes its
         next step; the others do at their heartbeats. All of this only adds records, and leaves the group unchanged.
Source   group-coordinator/.../GroupMetadataManager.java updateSubscriptionMetadata, maybeUpdateTargetAssignment,
         maybeReconcile; .../modern/TargetAssignmentBuilder.java, .../util/UpdatedMembersAndTargetAssignmentView.java
         @ 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, final
from uuid import UUID

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.groups.consumer.assignors.assignor import GroupSpec, MemberSpec
from fakebroker.core.groups.consumer.reconciliation import Circumstances, reconcile
from fakebroker.core.groups.consumer.state import records as make
from fakebroker.core.groups.consumer.state.group import ConsumerGroup
from fakebroker.core.groups.consumer.state.member import (
    NO_PARTITIONS,
    Assignment,
    ConsumerGroupMember,
    MemberState,
    ReportedPartitions,
    TargetAssignment,
)
from fakebroker.core.groups.consumer.state.topics import (
    SubscribedNames,
    metadata_hash,
    partition_counts,
    subscribed_topic_names,
)
from fakebroker.core.groups.consumer.timeouts import Timeouts
from fakebroker.core.groups.consumer.tools import ASSIGNORS, ConsumerTools
from fakebroker.core.hash_order import hash_map_order, timeline_order
from fakebroker.core.journal.group_events import GenerationBegan


class Change(NamedTuple):
    """A change of one member of a group, with its records. `may_describe` tells which topics its client may describe;
    None for all."""

    group: ConsumerGroup
    old: ConsumerGroupMember
    new: ConsumerGroupMember
    records: list[CoordinatorRecord]
    may_describe: Callable[[str], bool] | None = None


class Epoch(NamedTuple):
    """The epoch of the group after a change. `is_homogeneous`: all members then subscribe to the same topics."""

    epoch: int
    is_homogeneous: bool


@final
class Rebalancing:
    """The rebalances of a partition's groups."""

    def __init__(self, tools: ConsumerTools, timeouts: Timeouts) -> None:
        self._tools = tools
        self._timeouts = timeouts

    def epoch(self, change: Change, bump: bool) -> Epoch:
        """Return the group epoch. Increment it if `bump`, or if the topics have changed since the last check."""
        group = change.group
        if not bump and not group.may_have_other_topics():
            return Epoch(group.epoch, group.members.is_homogeneous)
        topics = group.members.topics_if(change.old, change.new)
        current_hash = metadata_hash(topics, self._tools.topics)
        is_known = change.new.member_id in group.members or group.members.by_instance(change.new.instance_id)
        members = len(group.members) + (not is_known)
        alike = topics.are_alike(group.members.regexes_if(change.old, change.new), members)
        epoch = group.epoch
        if bump or current_hash != group.metadata_hash:
            epoch += 1
            change.records.append(make.group_epoch(group.group_id, epoch, current_hash))
        group.set_topics_checked(epoch)
        if group.has_subscription_metadata:
            change.records.append(make.no_subscription_metadata(group.group_id))
        return Epoch(epoch, alike)

    def target(self, change: Change, epoch: Epoch) -> TargetAssignment:
        """Return the member's target; compute a new one if it is due."""
        group = change.group
        last = group.target_epoch
        interval_ms = self._tools.config_of(group.group_id).assignment_interval_ms
        is_too_soon = last.timestamp_ms != 0 and self._tools.wall_ms < last.timestamp_ms + interval_ms
        if last.epoch >= epoch.epoch or is_too_soon:
            return group.target_of(change.new)
        members, targets = _with_member(group, change.new)
        ids = _topic_ids_of(members, group, self._tools)
        order = hash_map_order(members)
        spec = GroupSpec(
            {
                member_id: MemberSpec(
                    members[member_id].instance_id, ids[member_id], targets.get(member_id, NO_PARTITIONS)
                )
                for member_id in order
            },
            partition_counts(frozenset().union(*ids.values()), self._tools.topics),
            epoch.is_homogeneous,
        )
        name = group.members.preferred_assignor_if(change.old, change.new) or self._tools.default_assignor
        assigned = ASSIGNORS[name](spec)
        for member_id in order:
            assignment = assigned.get(member_id, NO_PARTITIONS)
            if assignment != targets.get(member_id):
                change.records.append(make.target_assignment(group.group_id, member_id, assignment))
        change.records.append(make.target_assignment_epoch(group.group_id, epoch.epoch, self._tools.wall_ms))
        probe = self._tools.probe
        if probe.listeners:
            probe.tell(GenerationBegan(*probe.times, group.group_id, epoch.epoch, name, "", tuple(order)))
        return TargetAssignment(epoch.epoch, assigned.get(change.new.member_id, NO_PARTITIONS))

    def reconcile(
        self,
        change: Change,
        target: TargetAssignment,
        has_subscription_changed: bool,
        owned: Sequence[ReportedPartitions] | None,
    ) -> ConsumerGroupMember:
        """Return the member after its next step."""
        group, member = change.group, change.new
        if not has_subscription_changed and member.is_reconciled_to(target.epoch):
            return member
        names = subscribed_topic_names(member, group.members.resolved)
        given = Circumstances(
            names.topic_ids(self._tools.topics),
            has_subscription_changed,
            group.members.partitions.owner_epoch,
            owned,
        )
        updated = reconcile(member, target, given)
        if updated != member:
            change.records.append(make.current_assignment(group.group_id, updated))
            if updated.classic is None:
                if updated.state is MemberState.UNREVOKED_PARTITIONS:
                    self._timeouts.expect_revocation(group.group_id, updated)
                else:
                    self._timeouts.cancel_revocation(group.group_id, updated.member_id)
        return updated


def _with_member(
    group: ConsumerGroup, member: ConsumerGroupMember
) -> tuple[dict[str, ConsumerGroupMember], dict[str, Assignment]]:
    """Return the members and their targets after the change. A static member replaces the member that had its instance
    id."""
    known = {other.member_id: other for other in group.members.all()}
    members = {member_id: known[member_id] for member_id in timeline_order(known)}
    targets = group.targets()
    members[member.member_id] = member
    replaced = group.members.by_instance(member.instance_id)
    if replaced is not None and replaced.member_id != member.member_id:
        del members[replaced.member_id]
        target = targets.pop(replaced.member_id, None)
        if target is not None:
            targets[member.member_id] = target
    return members, targets


def _topic_ids_of(
    members: dict[str, ConsumerGroupMember], group: ConsumerGroup, tools: ConsumerTools
) -> dict[str, frozenset[UUID]]:
    """Return the ids of the topics that each member subscribes to. Members with equal subscriptions share one set."""
    by_names: dict[SubscribedNames, frozenset[UUID]] = {}
    topic_ids = {}
    for member_id, member in members.items():
        names = subscribed_topic_names(member, group.members.resolved)
        ids = by_names.get(names)
        if ids is None:
            ids = by_names[names] = names.topic_ids(tools.topics)
        topic_ids[member_id] = ids
    return topic_ids
