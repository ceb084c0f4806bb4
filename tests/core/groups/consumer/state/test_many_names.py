"""Members that name very many topics, of which most do not exist."""

from __future__ import annotations

import pytest
from support.simulation import Simulation
from support.slices import calls_of

from fakebroker.core.coordinator.timeline import SnapshotRegistry
from fakebroker.core.groups.consumer.state.member import ConsumerGroupMember
from fakebroker.core.groups.consumer.state.members import Members
from fakebroker.core.groups.consumer.state.topics import metadata_hash, topic_ids
from fakebroker.core.groups.consumer.state.topics_view import TopicsView


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
    members = Members(SnapshotRegistry())
    member = ConsumerGroupMember("m", topic_names=made_up(10_000))
    members.update(member)
    other = ConsumerGroupMember("n", topic_names=member.topic_names)
    members.update(other)
    assert calls_of(lambda: members.update(member._replace(member_epoch=2))) < 100
    assert members.is_homogeneous
    members.update(other._replace(topic_names=frozenset({"t"})))
    assert not members.is_homogeneous
