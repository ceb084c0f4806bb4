"""The members of a classic group, without the group (core/groups/classic/roster.py)."""

from __future__ import annotations

import pytest

from fakebroker.core.groups.classic.member import ClassicGroupMember
from fakebroker.core.groups.classic.messages import JoinAnswer, MemberProtocol, Reply
from fakebroker.core.groups.classic.roster import Roster
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


def member(member_id: str, instance_id: str | None = None, rebalance_timeout_ms: int = 1) -> ClassicGroupMember:
    protocols = (MemberProtocol("range", b""),)
    return ClassicGroupMember(member_id, instance_id, "c", "/h", rebalance_timeout_ms, 1, "consumer", protocols)


def ignored(answer: JoinAnswer) -> None:
    """Take a response that the test does not look at."""


def test_the_oldest_member_that_has_joined_leads() -> None:
    roster = Roster(None)
    roster.add(member("a"))
    assert not roster.elect_joined_leader()
    roster.add(member("b"), Reply(ignored))
    roster.add(member("c"), Reply(ignored))
    assert roster.leader_id == "a"
    assert roster.elect_joined_leader()
    assert roster.leader_id == "b"
    roster.remove("b")
    assert roster.leader_id == "a"
    roster.check_invariants()


def test_it_waits_for_members_and_for_ids_that_were_given_out() -> None:
    roster = Roster(None)
    first = member("a")
    roster.add(first, Reply(ignored))
    assert (roster.awaiting_join_count, roster.have_all_joined) == (1, True)
    roster.add_pending("b")
    assert (roster.awaiting_join_count, roster.have_all_joined) == (1, False)
    roster.add(member("b"))
    assert (roster.awaiting_join_count, roster.have_all_joined) == (1, False)
    roster.update_member(roster.members["b"], (MemberProtocol("sticky", b""),), 9, 1, Reply(ignored))
    assert (roster.awaiting_join_count, roster.have_all_joined) == (2, True)
    assert roster.rebalance_timeout_ms == 9
    roster.complete_join(first, JoinAnswer(ErrorCode.none, "a"))
    assert (roster.awaiting_join_count, roster.have_all_joined) == (1, False)
    roster.check_invariants()


def test_a_removed_member_is_not_waited_for() -> None:
    roster = Roster(None)
    roster.add(member("a"), Reply(ignored))
    roster.add_pending("b")
    roster.add_pending_sync("a")
    roster.remove("b")
    assert roster.have_all_joined
    roster.remove("a")
    assert (roster.awaiting_join_count, roster.have_all_synced, roster.leader_id) == (0, True, None)
    roster.check_invariants()


def test_a_static_member_that_comes_back_fences_its_old_id() -> None:
    roster = Roster(None)
    answers: list[JoinAnswer] = []
    roster.add(member("old", "one"), Reply(answers.append))
    roster.replace_static_member("one", "old", "new")
    assert [answer.error_code for answer in answers] == [ErrorCode.fenced_instance_id]
    assert (roster.leader_id, roster.static_member_id("one"), list(roster.members)) == ("new", "new", ["new"])
    roster.validate_member("new", "one")
    for member_id, instance_id, code in (
        ("old", "one", ErrorCode.fenced_instance_id),
        ("old", None, ErrorCode.unknown_member_id),
        ("new", "two", ErrorCode.unknown_member_id),
    ):
        with pytest.raises(KafkaError) as error:
            roster.validate_member(member_id, instance_id)
        assert error.value.code == code
    roster.check_invariants()
