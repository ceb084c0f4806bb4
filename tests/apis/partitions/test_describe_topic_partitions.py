"""DescribeTopicPartitions (apis/partitions/describe_topic_partitions.py): all pages in order."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask
from support.simulation import Simulation

DESCRIBE_TOPIC_PARTITIONS = 75


def page(simulation: Simulation, limit: int, cursor: Any, names: tuple[str, ...] = ()) -> tuple[list[Any], Any]:
    answer = ask(
        simulation.connect(),
        DESCRIBE_TOPIC_PARTITIONS,
        0,
        topics=[{"name": name} for name in names],
        response_partition_limit=limit,
        cursor=cursor,
    )
    topics = [
        (topic.name, [partition.partition_index for partition in topic.partitions], int(topic.error_code))
        for topic in answer.topics
    ]
    cursor = answer.next_cursor
    return topics, cursor and {"topic_name": cursor.topic_name, "partition_index": cursor.partition_index}


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7, 9, 100])
def test_pages_have_every_partition_once(limit: int) -> None:
    simulation = Simulation(brokers=1)
    for name, count in (("b", 4), ("a", 3), ("c", 2)):
        simulation.topic(name, partitions=count, replicas=1)
    seen: list[tuple[str, int]] = []
    cursor = None
    while True:
        topics, cursor = page(simulation, limit, cursor)
        here = [(name, index) for name, indexes, _ in topics for index in indexes]
        assert 0 < len(here) <= limit
        seen += here
        if cursor is None:
            break
    assert seen == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2), ("b", 3), ("c", 0), ("c", 1)]


def test_the_broker_has_a_limit_of_its_own() -> None:
    simulation = Simulation(brokers=1, config={"max.request.partition.size.limit": "2"})
    simulation.topic("t", partitions=3, replicas=1)
    assert page(simulation, 100, None) == ([("t", [0, 1], 0)], {"topic_name": "t", "partition_index": 2})
