"""The way of a member from its assignment to its target: it gives up partitions first, then it gets new ones.

Theory   A member at epoch e is to reach the target assignment of epoch t.
         - It must give up the partitions that are not in its target. It stays at e, UNREVOKED_PARTITIONS, until it
           reports that it no longer holds them. Only then may other members get them.
         - Then it is at t, and gets the partitions of its target that have no owner. If other members still hold some,
           it is UNRELEASED_PARTITIONS, and gets those when they are given up; else it is STABLE.
         Each partition has the epoch at which it was given. Partitions of topics that the member no longer subscribes
         to are revoked at once, before there is a new target.
Source   group-coordinator/.../modern/consumer/CurrentAssignmentBuilder.java @ 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from fakebroker.core.groups.consumer.state.member import (
    NOTHING_OWNED,
    ConsumerGroupMember,
    MemberState,
    OwnedPartitions,
    ReportedPartitions,
    TargetAssignment,
)
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


class Circumstances(NamedTuple):
    """The other inputs of the next step.

    topic_ids               existing topics that the member subscribes to
    has_subscription_changed  the request changes the subscription
    owner_epoch             epoch of the owner of a partition; -1 without an owner
    owned                   partitions that the member reports; None if it reports none
    """

    topic_ids: Collection[UUID]
    has_subscription_changed: bool
    owner_epoch: Callable[[UUID, int], int]
    owned: Sequence[ReportedPartitions] | None


def reconcile(member: ConsumerGroupMember, target: TargetAssignment, given: Circumstances) -> ConsumerGroupMember:
    """Return the member after its next step, or itself if there is nothing to do. Raises FENCED_MEMBER_EPOCH if its
    state is UNKNOWN and it still holds partitions."""
    state, epoch = member.state, member.member_epoch
    if state is MemberState.STABLE:
        if epoch != target.epoch:
            return _next_step(member, epoch, target, given)
        return _drop_unsubscribed(member, given) if given.has_subscription_changed else member
    if state is MemberState.UNREVOKED_PARTITIONS:
        if not _holds_any(member.pending_revocation, given.owned):
            return _next_step(member, epoch, target, given)
        return _drop_unsubscribed(member, given) if given.has_subscription_changed else member
    if state is MemberState.UNRELEASED_PARTITIONS:
        return _next_step(member, epoch, target, given)
    if given.owned is not None and not given.owned:
        return _next_step(member, target.epoch, target, given)
    raise KafkaError(
        ErrorCode.fenced_member_epoch,
        "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.",
    )


def _holds_any(revoked: OwnedPartitions, owned: Sequence[ReportedPartitions] | None) -> bool:
    """Return True if the member may still hold any of these partitions."""
    if owned is None:
        return True
    return any(not revoked.get(topic.topic_id, {}).keys().isdisjoint(topic.partitions) for topic in owned)


def _drop_unsubscribed(member: ConsumerGroupMember, given: Circumstances) -> ConsumerGroupMember:
    """Revoke partitions of topics that the member no longer subscribes to, before there is a new target."""
    dropped = {topic: epochs for topic, epochs in member.assigned.items() if topic not in given.topic_ids}
    if not dropped and (given.topic_ids or member.pending_revocation):
        return member
    kept = {topic: epochs for topic, epochs in member.assigned.items() if topic in given.topic_ids}
    pending = dict(member.pending_revocation)
    for topic, epochs in dropped.items():
        pending[topic] = {**pending.get(topic, {}), **epochs}
    changed = member.with_epoch(member.member_epoch)._replace(assigned=kept)
    if not pending or not _holds_any(pending, given.owned):
        return changed
    return changed._replace(state=MemberState.UNREVOKED_PARTITIONS, pending_revocation=pending)


def _next_step(
    member: ConsumerGroupMember, epoch: int, target: TargetAssignment, given: Circumstances
) -> ConsumerGroupMember:
    kept: dict[UUID, dict[int, int]] = {}
    revoked: dict[UUID, dict[int, int]] = {}
    free: dict[UUID, list[int]] = {}
    is_any_unreleased = False
    for topic in dict.fromkeys([*target.assignment, *member.assigned]):
        wanted = target.assignment.get(topic, frozenset()) if topic in given.topic_ids else frozenset()
        has = member.assigned.get(topic, {})
        given_up = member.pending_revocation.get(topic, {})
        kept_here = {partition: at for partition, at in has.items() if partition in wanted}
        revoked_here = {partition: at for partition, at in has.items() if partition not in wanted}
        missing = [partition for partition in sorted(wanted) if partition not in has]
        free_here = [p for p in missing if p in given_up or given.owner_epoch(topic, p) == -1]
        is_any_unreleased |= len(free_here) < len(missing)
        for by_topic, here in ((kept, kept_here), (revoked, revoked_here)):
            if here:
                by_topic[topic] = here
        if free_here:
            free[topic] = free_here
    if revoked and _holds_any(revoked, given.owned):
        return member.with_epoch(epoch)._replace(
            state=MemberState.UNREVOKED_PARTITIONS, assigned=kept, pending_revocation=revoked
        )
    for topic, partitions in free.items():
        kept[topic] = kept.get(topic, {}) | dict.fromkeys(partitions, target.epoch)
    return member.with_epoch(target.epoch)._replace(
        state=MemberState.UNRELEASED_PARTITIONS if is_any_unreleased else MemberState.STABLE,
        assigned=kept,
        pending_revocation=NOTHING_OWNED,
    )
