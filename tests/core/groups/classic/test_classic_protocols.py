"""The protocol that is selected, and the topics that consumers are subscribed to."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.slices import calls_of, most_calls_of_a_slice

from fakebroker.core.groups.classic.member import ClassicGroupMember
from fakebroker.core.groups.classic.messages import MemberProtocol
from fakebroker.core.groups.classic.protocols import SupportedProtocols, subscribed_topics, with_topics
from fakebroker.core.hash_order import hash_map_order
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import finish


def member(*names: str, says: bytes = b"") -> ClassicGroupMember:
    protocols = tuple(MemberProtocol(name, says) for name in names)
    return ClassicGroupMember("m", None, "c", "/h", 1, 1, "consumer", protocols)


def selected(*members: ClassicGroupMember) -> str:
    supported = SupportedProtocols()
    for group_member in members:
        supported.add(group_member)
    return supported.select(members, len(members))


def subscription(topics: list[str], user_data: bytes | None = None, version: int = 0) -> bytes:
    names = b"".join(struct.pack(">h", len(name.encode())) + name.encode() for name in topics)
    data = struct.pack(">i", -1) if user_data is None else struct.pack(">i", len(user_data)) + user_data
    return struct.pack(">hi", version, len(topics)) + names + data


def test_the_most_votes_win() -> None:
    assert selected(member("a", "b"), member("b", "a"), member("b", "a")) == "b"


def test_only_what_all_know_is_voted_for() -> None:
    assert selected(member("a", "b"), member("a", "b"), member("b")) == "b"


def test_without_a_protocol_that_all_know_there_is_none() -> None:
    with pytest.raises(KafkaError):
        selected(member("a", "a"))


@pytest.mark.parametrize(
    ("names", "order"),
    [
        # As `new HashMap<String, Integer>()` gave them on OpenJDK 17.
        (["range", "roundrobin"], ["range", "roundrobin"]),
        (["roundrobin", "range"], ["range", "roundrobin"]),
        (["sticky", "cooperative-sticky"], ["sticky", "cooperative-sticky"]),
        (["cooperative-sticky", "sticky", "range"], ["sticky", "range", "cooperative-sticky"]),
        (["b", "a", "c"], ["a", "b", "c"]),
        ([f"p-{i}" for i in range(14)], [f"p-{i}" for i in (13, 12, 11, 10, 0, 2, 1, 4, 3, 6, 5, 8, 7, 9)]),
    ],
)
def test_the_order_of_a_hash_table(names: list[str], order: list[str]) -> None:
    assert hash_map_order(names) == order


@given(st.lists(st.text(), unique=True))
def test_the_order_has_every_name_once(names: list[str]) -> None:
    assert sorted(hash_map_order(names)) == sorted(names)


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=5), st.none() | st.binary(max_size=9))
def test_topics_are_read(topics: list[str], user_data: bytes | None) -> None:
    says = subscription(topics, user_data, version=3) + b"what later versions have"
    assert subscribed_topics([member("range", says=says)], "range") == [frozenset(topics)]


@given(st.binary(max_size=40))
def test_whatever_a_member_says_is_read_or_not(says: bytes) -> None:
    topics = subscribed_topics([member("range", says=says)], "range")
    assert topics is None or len(topics) == 1


def test_one_that_cannot_be_read_hides_all() -> None:
    members = [member("range", says=subscription(["t"])), member("range", says=b"\0")]
    assert subscribed_topics(members, "range") is None


@pytest.mark.parametrize("says", [subscription([f"t{number}" for number in range(5_000)]), subscription(["t"]) * 2_000])
def test_very_many_topics_are_read_before_the_rebalance(says: bytes) -> None:
    whole = MemberProtocol("range", says)
    [known] = finish(with_topics((whole,)))
    assert known == whole
    assert hash(known) == hash(whole)
    assert known.topics is not None
    assert known != MemberProtocol("range", b"")
    members = [
        ClassicGroupMember("m", None, "c", "/h", 1, 1, "consumer", (protocol,))
        for protocol in (known, MemberProtocol("range", subscription(["u"])))
    ]
    topics = subscribed_topics(members, "range")
    assert topics is not None
    assert set().union(*topics) == {"u"} | set().union(*known.topics)
    assert calls_of(lambda: subscribed_topics(members, "range")) < 50


@pytest.mark.interpreted
def test_very_many_topics_are_read_in_slices() -> None:
    def most_calls(count: int) -> int:
        says = subscription([f"t{number}" for number in range(count)])

        def begin() -> Any:
            return with_topics((MemberProtocol("range", says),))

        return most_calls_of_a_slice(begin)

    assert most_calls(20_000) < 1.2 * most_calls(5_000)


def test_one_with_very_many_that_cannot_be_read_hides_all() -> None:
    [unreadable] = finish(with_topics((MemberProtocol("range", subscription(["t"] * 5_000)[:-1]),)))
    assert unreadable.topics == ()
    assert (
        subscribed_topics([ClassicGroupMember("m", None, "c", "/h", 1, 1, "consumer", (unreadable,))], "range") is None
    )
