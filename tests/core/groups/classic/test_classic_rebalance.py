"""Rebalances of classic groups in virtual time: the members that a rebalance waits for, and the wait, to the
millisecond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.classic_members import REBALANCE_MS, SESSION_MS, ClassicMembers
from support.group_harness import GroupHarness
from support.slices import calls_of

from fakebroker.core.groups.classic.messages import Reply
from fakebroker.core.groups.classic.rebalance import NEW_MEMBER_JOIN_TIMEOUT_MS
from fakebroker.protocol.error_code import ErrorCode

DELAY_MS = 3_000


@pytest.fixture
def harness() -> GroupHarness:
    return GroupHarness()


@pytest.fixture
def members(harness: GroupHarness) -> ClassicMembers:
    return ClassicMembers(harness)


def test_the_first_generation_waits_for_others(harness: GroupHarness, members: ClassicMembers) -> None:
    first = members.join()
    harness.advance(DELAY_MS - 1)
    second = members.join()  # so it takes as long again
    harness.advance(DELAY_MS)
    assert (first.answer, second.answer) == (None, None)
    harness.advance(1)
    assert first.told.generation_id == second.told.generation_id == 1
    assert first.told.leader == second.told.leader == first.told.member_id
    assert [member.member_id for member in first.told.members] == [first.told.member_id, second.told.member_id]
    assert second.told.members == ()


def test_a_first_rebalance_waits_at_most_for_the_rebalance_timeout(
    harness: GroupHarness, members: ClassicMembers
) -> None:
    joins = [members.join(rebalance_ms=7_000)]
    for _ in range(6):
        harness.advance(1_000)
        joins.append(members.join(rebalance_ms=7_000))
    harness.advance(999)
    assert all(join.answer is None for join in joins)
    harness.advance(1)
    assert {join.told.generation_id for join in joins} == {1}


def test_a_session_ends_to_the_millisecond(harness: GroupHarness, members: ClassicMembers) -> None:
    leader, other = members.stable(2)
    harness.advance(SESSION_MS - 1)
    assert members.heartbeat(leader, 1) is ErrorCode.none
    assert members.group.members.keys() == {leader, other}
    harness.advance(1)
    assert members.group.members.keys() == {leader}
    assert members.group.state_name() == "PreparingRebalance"
    assert members.heartbeat(other, 1) is ErrorCode.unknown_member_id
    assert members.heartbeat(leader, 1) is ErrorCode.rebalance_in_progress
    assert members.join(leader).told.generation_id == 2


def test_a_member_that_does_not_rejoin_in_time_is_removed(harness: GroupHarness, members: ClassicMembers) -> None:
    leader, other = members.stable(2, session_ms=REBALANCE_MS * 2)
    again = members.join(other, session_ms=REBALANCE_MS * 2)
    assert again.told.generation_id == 1, "it has nothing new to say"
    again = members.join(leader, session_ms=REBALANCE_MS * 2)
    harness.advance(REBALANCE_MS - 1)
    assert again.answer is None
    harness.advance(1)
    assert again.told.generation_id == 2
    assert members.group.members.keys() == {leader}


def test_a_leader_that_does_not_join_again_is_replaced(harness: GroupHarness, members: ClassicMembers) -> None:
    leader, second, third = members.stable(3, session_ms=REBALANCE_MS * 2)
    members.leave(third)
    again = members.join(second)
    harness.advance(REBALANCE_MS)
    assert again.told.leader == second
    assert leader not in members.group.members


def test_a_member_that_does_not_sync_in_time_is_removed(harness: GroupHarness, members: ClassicMembers) -> None:
    first, second = members.join(), members.join()
    harness.advance(DELAY_MS * 2)
    waits = members.sync(second.told.member_id, 1)
    for _ in range(6):
        harness.advance(SESSION_MS - 1)
        members.heartbeat(first.told.member_id, 1)
    harness.advance(REBALANCE_MS - 6 * (SESSION_MS - 1) - 1)
    assert waits.answer is None, "a member with a pending SyncGroup needs no heartbeats"
    harness.advance(1)
    assert waits.told.error_code is ErrorCode.rebalance_in_progress
    assert members.group.members.keys() == {second.told.member_id}


def test_a_member_that_got_an_id_has_one_session_to_use_it(harness: GroupHarness, members: ClassicMembers) -> None:
    [leader] = members.stable()
    pending = members.join(knows_ids=True, session_ms=10_000).told
    assert pending.error_code is ErrorCode.member_id_required
    again = members.join(leader)
    harness.advance(9_999)
    assert again.answer is None, "the pending member is waited for"
    harness.advance(1)
    assert again.told.generation_id == 2
    assert members.join(pending.member_id).told.error_code is ErrorCode.unknown_member_id


def test_a_new_member_that_waits_has_to_ask_again(harness: GroupHarness, members: ClassicMembers) -> None:
    [leader] = members.stable(session_ms=1_800_000, rebalance_ms=2_000_000)
    new = members.join()
    harness.advance(NEW_MEMBER_JOIN_TIMEOUT_MS - 1)
    assert new.answer is None
    harness.advance(1)
    assert new.told.error_code is ErrorCode.unknown_member_id
    assert members.group.members.keys() == {leader}


def test_an_empty_group_keeps_its_generation(harness: GroupHarness, members: ClassicMembers) -> None:
    [only] = members.stable()
    members.leave(only)
    assert (members.group.state_name(), members.group.generation_id) == ("Empty", 2)
    assert members.stable() != [only]
    assert members.group.generation_id == 3


def test_a_rebalance_does_not_wait_for_a_member_that_only_got_an_id(
    harness: GroupHarness, members: ClassicMembers
) -> None:
    """A group without members has a rebalance timeout of 0, which ends at once, and not at the next millisecond."""
    only = members.join()
    harness.advance(DELAY_MS)
    answer = members.join(knows_ids=True).told
    assert answer.error_code is ErrorCode.member_id_required
    members.leave(only.told.member_id)
    assert members.group.state_name() == "Empty"


@pytest.mark.parametrize("count", [1, 3])
def test_what_is_counted_is_what_there_is(harness: GroupHarness, members: ClassicMembers, count: int) -> None:
    ids = members.stable(count)
    members.group.roster.check_invariants()
    members.join(ids[0])
    members.join(knows_ids=True)
    members.group.roster.check_invariants()
    members.leave(*ids)
    members.group.roster.check_invariants()


def test_the_answers_of_a_large_rebalance_are_sent_in_turns(harness: GroupHarness, members: ClassicMembers) -> None:
    """Some responses go out at once, in the order of the members; other work is done between the rest."""
    joins = [members.join() for _ in range(200)]
    soon: list[Callable[[], None]] = []
    harness.coordinator().runtime.in_turns._soon = soon.append
    harness.advance(2 * DELAY_MS)

    def count(of: list[Any]) -> int:
        answered = [request.answer is not None for request in of]
        assert answered == sorted(answered, reverse=True)
        return sum(answered)

    def send(of: list[Any]) -> None:
        assert count(of) == 64
        while soon:
            before = count(of)
            soon.pop()()
            assert before < count(of) <= before + 32
        assert count(of) == 200

    send(joins)
    ids = [join.told.member_id for join in joins]
    assert ids == list(members.group.members)
    synced = [members.sync(member_id, 1) for member_id in ids[1:]]
    assert count(synced) == 0
    leader = members.sync(ids[0], 1, {member_id: member_id.encode() for member_id in ids})
    send([leader, *synced])
    assert [request.told.assignment for request in (leader, *synced)] == [member_id.encode() for member_id in ids]


def test_no_session_ends_while_a_response_of_the_rebalance_is_still_to_be_sent(
    harness: GroupHarness, members: ClassicMembers
) -> None:
    joins = [members.join() for _ in range(200)]
    harness.advance(2 * DELAY_MS)
    ids = [join.told.member_id for join in joins]
    for member_id in ids[1:]:
        members.sync(member_id, 1)
    harness.advance(SESSION_MS - DELAY_MS - 1)
    soon: list[Callable[[], None]] = []
    harness.coordinator().runtime.in_turns._soon = soon.append
    members.sync(ids[0], 1, {})
    harness.advance(DELAY_MS + 1)
    assert len(members.group.members) == 200
    members.leave(ids[-1])
    while soon:
        soon.pop()()
    assert len(members.group.members) == 199
    harness.advance(SESSION_MS - DELAY_MS - 2)
    assert len(members.group.members) == 199
    harness.advance(1)  # of those that had their response at once
    assert len(members.group.members) == 199 - 64
    harness.advance(DELAY_MS + 1)
    assert len(members.group.members) == 0


@pytest.mark.interpreted
def test_a_generation_costs_few_calls_for_each_member(harness: GroupHarness, members: ClassicMembers) -> None:
    """All members get the generation in one event; their session timers and responses follow in turns."""
    rebalances = harness.shard().classic.rebalances

    def calls(count: int) -> int:
        while len(members.group.members) < count:
            members.join()
        for member in members.group.members.values():
            member.awaiting_join = Reply(lambda answer: None, lambda call: None)
        return calls_of(lambda: rebalances._answer_joins(members.group))

    members.join()
    members.group.protocol_name = "range"
    assert -calls(100) + calls(200) < 18 * 100
