"""The reconciliation of a member with its target assignment, step by step."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

import pytest

from fakebroker.core.groups.consumer.reconciliation import Circumstances, reconcile
from fakebroker.core.groups.consumer.state.member import (
    ConsumerGroupMember,
    MemberState,
    OwnedPartitions,
    ReportedPartitions,
    TargetAssignment,
)
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

A, B = UUID(int=1), UUID(int=2)
STABLE, UNREVOKED, UNRELEASED = MemberState.STABLE, MemberState.UNREVOKED_PARTITIONS, MemberState.UNRELEASED_PARTITIONS


def member(
    state: MemberState, epoch: int, assigned: OwnedPartitions, pending: OwnedPartitions | None = None
) -> ConsumerGroupMember:
    return ConsumerGroupMember("m", epoch, epoch - 1, state=state, assigned=assigned, pending_revocation=pending or {})


def step(
    before: ConsumerGroupMember,
    target: TargetAssignment,
    owned: dict[UUID, Iterable[int]] | None = None,
    taken: frozenset[tuple[UUID, int]] = frozenset(),
    topics: frozenset[UUID] = frozenset({A, B}),
    changed: bool = False,
) -> ConsumerGroupMember:
    said = (
        None if owned is None else [ReportedPartitions(topic, list(partitions)) for topic, partitions in owned.items()]
    )
    owner = dict.fromkeys(taken, 1)
    return reconcile(before, target, Circumstances(topics, changed, lambda t, p: owner.get((t, p), -1), said))


def test_a_stable_member_at_its_target_is_unchanged() -> None:
    before = member(STABLE, 5, {A: {0: 4}})
    assert step(before, TargetAssignment(5, {A: frozenset({0, 1})})) is before


def test_what_is_free_is_given_at_once() -> None:
    after = step(member(STABLE, 5, {A: {0: 4}}), TargetAssignment(6, {A: frozenset({0, 1})}))
    assert (after.state, after.member_epoch, after.previous_member_epoch) == (STABLE, 6, 5)
    assert after.assigned == {A: {0: 4, 1: 6}}


def test_what_others_have_is_waited_for() -> None:
    taken = frozenset({(A, 1)})
    target = TargetAssignment(6, {A: frozenset({0, 1, 2})})
    after = step(member(STABLE, 5, {A: {0: 4}}), target, taken=taken)
    assert (after.state, after.member_epoch, after.assigned) == (UNRELEASED, 6, {A: {0: 4, 2: 6}})
    assert step(after, target, taken=taken).state is UNRELEASED
    free = step(after, target)
    assert (free.state, free.assigned) == (STABLE, {A: {0: 4, 1: 6, 2: 6}})


def test_what_is_not_to_be_had_is_given_up_first() -> None:
    target = TargetAssignment(6, {A: frozenset({1, 2})})
    after = step(member(STABLE, 5, {A: {0: 4, 1: 4}}), target)
    assert (after.state, after.member_epoch, after.previous_member_epoch) == (UNREVOKED, 5, 5)
    assert (after.assigned, after.pending_revocation) == ({A: {1: 4}}, {A: {0: 4}})
    assert step(after, target) is after
    assert step(after, target, owned={A: [0, 1]}) is after
    done = step(after, target, owned={A: [1]})
    assert (done.state, done.member_epoch, done.assigned) == (STABLE, 6, {A: {1: 4, 2: 6}})


def test_a_member_that_does_not_own_a_removed_partition_skips_revocation() -> None:
    after = step(member(STABLE, 5, {A: {0: 4, 1: 4}}), TargetAssignment(6, {}), owned={A: [1]})
    assert after.state is UNREVOKED
    after = step(member(STABLE, 5, {A: {0: 4, 1: 4}}), TargetAssignment(6, {}), owned={})
    assert (after.state, after.member_epoch, after.assigned) == (STABLE, 6, {})


def test_what_was_given_up_may_come_back_at_once() -> None:
    """Only this member could have the partition: no other one gets it before."""
    before = member(UNREVOKED, 5, {A: {1: 4}}, {A: {0: 4}})
    after = step(before, TargetAssignment(7, {A: frozenset({0, 1})}), owned={A: [1]}, taken=frozenset({(A, 0), (A, 1)}))
    assert (after.state, after.assigned) == (STABLE, {A: {0: 7, 1: 4}})


def test_what_one_is_not_subscribed_to_goes_before_the_target_changes() -> None:
    before = member(STABLE, 5, {A: {0: 4}, B: {0: 5}})
    target = TargetAssignment(5, {A: frozenset({0}), B: frozenset({0})})
    after = step(before, target, topics=frozenset({B}), changed=True)
    assert (after.state, after.member_epoch) == (UNREVOKED, 5)
    assert (after.assigned, after.pending_revocation) == ({B: {0: 5}}, {A: {0: 4}})
    again = step(after, target, topics=frozenset(), changed=True)
    assert (again.assigned, again.pending_revocation) == ({}, {A: {0: 4}, B: {0: 5}})
    assert step(after, target, topics=frozenset({B}), changed=True) is after


def test_a_topic_to_which_one_is_not_subscribed_is_not_given() -> None:
    after = step(
        member(STABLE, 5, {}), TargetAssignment(6, {A: frozenset({0}), B: frozenset({0})}), topics=frozenset({B})
    )
    assert (after.state, after.assigned) == (STABLE, {B: {0: 6}})


def test_a_member_in_an_unknown_state_is_fenced_until_it_owns_nothing() -> None:
    before = member(MemberState.from_value(99), 5, {})
    holding: dict[UUID, Iterable[int]] = {A: [0]}
    for owned in (None, holding):
        with pytest.raises(KafkaError, match="unknown state") as refused:
            step(before, TargetAssignment(6, {A: frozenset({0})}), owned=owned)
        assert refused.value.code is ErrorCode.fenced_member_epoch
    after = step(before, TargetAssignment(6, {A: frozenset({0})}), owned={})
    assert (after.state, after.member_epoch, after.assigned) == (STABLE, 6, {A: {0: 6}})
