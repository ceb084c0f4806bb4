"""Topics that are created in slices, with other work in between (Controller.create_topics_in_slices)."""

from __future__ import annotations

import pytest
from support.simulation import Simulation
from support.slices import count_slices, most_calls_of_a_slice

from fakebroker.core.controller.topics import NewTopic, Topic
from fakebroker.core.replication.behaviour import FROZEN
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices, finish

Results = list[Topic | KafkaError]


def creating(simulation: Simulation, *topics: NewTopic) -> Slices[Results]:
    return simulation.cluster.controller.create_topics_in_slices(topics, lambda: simulation.now)


def codes(results: Results) -> list[ErrorCode]:
    return [result.code if isinstance(result, KafkaError) else ErrorCode.none for result in results]


def test_each_topic_and_a_few_partitions_take_a_slice() -> None:
    simulation = Simulation()
    results, count = count_slices(creating(simulation, *(NewTopic(f"t{n}") for n in range(300))))
    assert codes(results) == [ErrorCode.none] * 300
    assert count >= 600
    [made], count = count_slices(creating(simulation, NewTopic("large", 1_000, 3)))
    assert isinstance(made, Topic)
    assert [partition.topic_partition.partition for partition in made.partitions] == list(range(1_000))
    assert count >= 100
    simulation.cluster.controller.check_invariants()


def test_a_topic_is_there_with_all_its_partitions_or_not_at_all() -> None:
    simulation = Simulation()
    slices = creating(simulation, NewTopic("t", 100, 3))
    while (topic := simulation.cluster.metadata.topic("t")) is None:
        next(slices)
    assert len(topic.partitions) == 100
    assert isinstance(finish(slices)[0], Topic)


def test_a_topic_that_is_created_meanwhile_was_there_before() -> None:
    simulation = Simulation()
    slices = creating(simulation, NewTopic("a", 50, 3), NewTopic("b", 50, 3))
    next(slices)
    simulation.topic("b", partitions=2)
    assert codes(finish(slices)) == [ErrorCode.none, ErrorCode.topic_already_exists]
    topic = simulation.cluster.metadata.topic("b")
    assert topic is not None
    assert len(topic.partitions) == 2


@pytest.mark.parametrize("after", [1, 4, 9])
def test_a_broker_that_stops_meanwhile_leads_no_partition(after: int) -> None:
    simulation = Simulation()
    slices = creating(simulation, NewTopic("t", 100, 3))
    for _ in range(after):
        next(slices)
    simulation.stop(2)
    assert codes(finish(slices)) == [ErrorCode.none]
    simulation.cluster.controller.check_invariants()
    for partition in simulation.cluster.metadata.partitions():
        assert partition.leader_id in (1, 3)
        assert partition.isr == {1, 3}


def test_no_broker_is_left_meanwhile() -> None:
    simulation = Simulation()
    slices = creating(simulation, NewTopic("t", 100, 3), NewTopic("u", 1, 1))
    for _ in range(5):
        next(slices)
    for broker_id in (1, 2, 3):
        simulation.stop(broker_id)
    assert codes(finish(slices)) == [ErrorCode.invalid_replication_factor] * 2
    assert simulation.cluster.metadata.topic_names() == []


def test_settings_of_the_brokers_that_are_altered_meanwhile_count() -> None:
    simulation = Simulation()
    slices = creating(simulation, NewTopic("t", 100, 3))
    for _ in range(5):
        next(slices)
    simulation.cluster.admin.alter_broker_configs({"min.insync.replicas": "2"}, simulation.now)
    assert codes(finish(slices)) == [ErrorCode.none]
    assert {partition.config.min_insync_replicas for partition in simulation.cluster.metadata.partitions()} == {2}


def test_a_behaviour_of_followers_that_is_set_meanwhile_counts() -> None:
    simulation = Simulation()
    slices = creating(simulation, NewTopic("t", 100, 3))
    for _ in range(5):
        next(slices)
    simulation.cluster.admin.set_followers(FROZEN, simulation.now)
    assert codes(finish(slices)) == [ErrorCode.none]
    followers = simulation.cluster.followers
    partitions = list(simulation.cluster.metadata.partitions())
    assert {
        str(followers.of_broker(partition, id_).behaviour) for partition in partitions for id_ in partition.replicas
    } == {"frozen"}
    simulation.cluster.check_invariants()


def test_followers_that_are_cut_off_meanwhile_do_not_fetch() -> None:
    simulation = Simulation()
    slices = creating(simulation, NewTopic("t", 100, 3))
    for _ in range(5):
        next(slices)
    simulation.cluster.lives.cut([2], [1, 3], [], simulation.now)
    assert codes(finish(slices)) == [ErrorCode.none]
    for partition in simulation.cluster.metadata.partitions():
        for replica in partition.replicas.values():
            reaches = simulation.cluster.registry.can_reach(replica.broker_id, partition.leader_id)
            assert replica.is_connected == reaches
    simulation.cluster.check_invariants()


@pytest.mark.interpreted
def test_followers_are_made_before_their_topic_is_published() -> None:
    simulation = Simulation()
    finish(creating(simulation, NewTopic("first", 1, 3)))  # what is imported, or made the first time
    assert most_calls_of_a_slice(lambda: creating(simulation, NewTopic("t", 2_000, 3))) < 25 * 2_000
