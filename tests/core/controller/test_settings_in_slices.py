"""Settings of very many partitions, altered in slices, with other work in between."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from support.simulation import Simulation
from support.slices import most_calls_of_a_slice

from fakebroker.core.controller.partition_creation import NewPartitions
from fakebroker.protocol.slices import Slices, finish

MAX = "max.message.bytes"
Change = Callable[[Simulation, str], Slices[None]]


def of_topic(simulation: Simulation, value: str | None) -> Slices[None]:
    return simulation.cluster.admin.alter_topic_configs_in_slices("t", {MAX: value}, simulation.now)


def of_brokers(simulation: Simulation, value: str | None) -> Slices[None]:
    return simulation.cluster.admin.alter_broker_configs_in_slices({"message.max.bytes": value}, simulation.now)


def large(topics: int = 1, partitions: int = 300) -> Simulation:
    simulation = Simulation()
    simulation.topic("t", partitions=partitions, replicas=3)
    for number in range(1, topics):
        simulation.topic(f"u{number}", partitions=1, replicas=3)
    return simulation


def sizes(simulation: Simulation) -> set[int]:
    return {partition.config.max_message_bytes for partition in simulation.cluster.metadata.partitions()}


def in_turn(*works: Slices[None]) -> None:
    left = list(works)
    while left:
        for work in list(left):
            try:
                next(work)
            except StopIteration:
                left.remove(work)


@pytest.mark.parametrize(
    ("works", "there"),
    [
        ((of_topic, of_topic), {MAX: "2002"}),
        ((of_brokers, of_topic), {MAX: "2002"}),
        ((of_topic, of_brokers), {MAX: "2001"}),
        ((of_brokers, of_brokers), {}),
    ],
)
def test_the_newer_of_two_concurrent_changes_stays_on_all_partitions(
    works: tuple[Change, Change], there: dict[str, str]
) -> None:
    simulation = large(topics=50)
    in_turn(works[0](simulation, "2001"), works[1](simulation, "2002"))
    topic = simulation.cluster.metadata.topic("t")
    assert topic is not None
    assert topic.configs == there
    assert {partition.config.max_message_bytes for partition in topic.partitions} == {int(there.get(MAX, "2002"))}


def test_partitions_that_are_added_meanwhile_have_the_new_settings() -> None:
    simulation = large()
    more = simulation.cluster.controller.create_partitions([NewPartitions("t", 400)], lambda: simulation.now)
    in_turn(of_topic(simulation, "2001"), (None for _ in more))
    assert len(list(simulation.cluster.metadata.partitions())) == 400
    assert sizes(simulation) == {2001}


def test_topics_that_are_made_and_deleted_meanwhile() -> None:
    simulation = large(topics=100)
    work = of_brokers(simulation, "2001")
    next(work)
    simulation.topic("new", partitions=3)
    simulation.delete_topic("u99")
    finish(work)
    assert sizes(simulation) == {2001}
    simulation.cluster.check_invariants()


@pytest.mark.interpreted
@pytest.mark.parametrize("change", [of_topic, of_brokers])
def test_a_slice_does_not_grow_with_the_partitions(change: Change) -> None:
    calls = []
    for size in (100, 400):
        simulation = large(topics=size // 4, partitions=size)
        finish(change(simulation, "2000"))  # what is made the first time
        calls.append(most_calls_of_a_slice(partial(change, simulation, "2001")))
    assert calls[1] < 1.5 * calls[0]
