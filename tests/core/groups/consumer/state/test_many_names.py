"""Members that name very many topics; most of them do not exist."""

from __future__ import annotations

import random
from typing import Any

import pytest
from support.consumer_member import ConsumerHarness
from support.simulation import Simulation
from support.slices import calls_of, most_calls_of_a_slice

from fakebroker.core.coordinator.timeline import SnapshotRegistry
from fakebroker.core.groups.consumer.state.member import ConsumerGroupMember
from fakebroker.core.groups.consumer.state.members import ConsumerGroupMembers
from fakebroker.core.groups.consumer.state.topics import metadata_hash, topic_ids
from fakebroker.core.groups.consumer.state.topics_view import TopicsView
from fakebroker.protocol.group_records import many_names
from fakebroker.protocol.group_records.consumer_group import ConsumerGroupMemberMetadataValue
from fakebroker.protocol.group_records.many_names import ManyNames, as_names, names_in_slices


def made_up(count: int) -> frozenset[str]:
    return frozenset(["t", *(f"u{number}" for number in range(count))])


@pytest.mark.interpreted
def test_names_of_no_topic_are_not_looked_up_one_by_one() -> None:
    simulation = Simulation()
    simulation.topic("t")
    topics = TopicsView(simulation.cluster.metadata)
    names = made_up(10_000)
    assert topic_ids(names, topics) == topic_ids({"t"}, topics)
    assert metadata_hash(names, topics) == metadata_hash({"t"}, topics)
    assert calls_of(lambda: topic_ids(names, topics)) < 100
    assert calls_of(lambda: metadata_hash(names, topics)) < 100


@pytest.mark.interpreted
def test_a_member_that_names_the_same_topics_is_not_counted_again() -> None:
    members = ConsumerGroupMembers(SnapshotRegistry())
    member = ConsumerGroupMember("m", topic_names=made_up(10_000))
    members.update(member)
    other = ConsumerGroupMember("n", topic_names=member.topic_names)
    members.update(other)
    assert calls_of(lambda: members.update(member._replace(member_epoch=2))) < 100
    assert members.is_homogeneous
    members.update(other._replace(topic_names=frozenset({"t"})))
    assert not members.is_homogeneous


def test_very_many_names_are_a_sorted_set_and_the_same_record() -> None:
    names = [*made_up(5_000), "u1", "u2", "ü" * 100]
    many = as_names(names)
    assert isinstance(many, ManyNames)
    assert list(many) == sorted(set(names))
    assert len(many) == len(set(names))
    assert "u1" in many
    assert "v1" not in many
    assert many == as_names(list(reversed(names)))
    assert many != as_names([*names, "more"])
    assert many != frozenset(names)

    def record(names: Any) -> bytes:
        return ConsumerGroupMemberMetadataValue(None, None, "", "", names, None, 1, None, None).encode()

    assert record(many) == record(tuple(sorted(set(names))))


def test_few_names_said_very_often_are_few() -> None:
    assert as_names(["b", "a", "b"] * 1_000) == frozenset("ab")


@pytest.mark.interpreted
def test_names_are_put_in_order_in_slices() -> None:
    def most_calls(count: int) -> int:
        names = sorted(made_up(count), key=hash)

        def begin() -> Any:
            return names_in_slices(names)

        return most_calls_of_a_slice(begin)

    assert most_calls(40_000) < 1.2 * most_calls(10_000)


@pytest.mark.interpreted
@pytest.mark.parametrize("step", ["join", "other names", "same names", "leave"])
def test_what_a_group_does_with_a_heartbeat_does_not_grow_with_its_names(step: str) -> None:
    """The cost is measured from the operation to its record in the log and its replay."""

    def calls(count: int) -> int:
        groups = ConsumerHarness()
        groups.topic("t", 1)
        names, others = as_names(made_up(count)), as_names(made_up(count + 1))
        said: dict[str, Any] = {"rebalance_timeout_ms": 10_000, "topic_names": names, "owned": []}
        if step == "join":
            return calls_of(lambda: groups.heartbeat("m", 0, **said))
        epoch = groups.heartbeat("m", 0, **said).member_epoch
        if step == "leave":
            return calls_of(lambda: groups.heartbeat("m", -1))
        return calls_of(lambda: groups.heartbeat("m", epoch, topic_names=others if step == "other names" else names))

    calls(1_000)  # what is made once
    assert calls(4_000) < calls(1_000) + 100


def test_groups_count_very_many_names_as_they_count_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_names, "MANY", 2)
    for seed in range(200):
        draw = random.Random(seed)
        members = ConsumerGroupMembers(SnapshotRegistry())
        named: dict[str, list[str]] = {}
        for _ in range(8):
            member_id = draw.choice("mno")
            if draw.random() < 0.2 and member_id in named:
                del named[member_id]
                members.remove(member_id)
            else:
                names = draw.choice(([], ["a"], ["a", "b"], list("abc"), list("bcde")))
                named[member_id] = names
                members.update(ConsumerGroupMember(member_id, topic_names=as_names(names)))
            topics = set().union(*named.values())
            assert {topic for topic in "abcdef" if members.is_subscribed_to(topic)} == topics
            assert {topic for topic in "abcdef" if topic in members.topics} == topics == set(members.topics)
            assert members.is_homogeneous == (len(set(map(frozenset, named.values()))) <= 1)
