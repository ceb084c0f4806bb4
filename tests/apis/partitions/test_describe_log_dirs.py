"""DescribeLogDirs and AlterReplicaLogDirs, every version (apis/partitions/describe_log_dirs.py)."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask, served_versions
from support.handling import Handling
from support.requests import batch, produce
from support.simulation import SimulatedClient, Simulation
from support.slices import count_slices

ALTER, DESCRIBE = 34, 35
NONE, UNKNOWN_TOPIC, NO_REPLICA, NO_DIR = 0, 3, 9, 57
UNBOUNDED = 2**63 - 1


def told(client: SimulatedClient, version: int = 5, topics: Any = None) -> dict[str, dict[tuple[str, int], int]]:
    """Return the sizes of partitions, by directory."""
    answer = ask(client, DESCRIBE, version, topics=topics)
    return {
        result.log_dir: {
            (topic.name, partition.partition_index): partition.partition_size
            for topic in result.topics
            for partition in topic.partitions
        }
        for result in answer.results
    }


@pytest.fixture
def simulation() -> Simulation:
    running = Simulation(brokers=2, config={"log.dirs": "/a,/b"})
    running.topic("t", partitions=2, replicas=1)
    running.connect().send(produce("t", records=batch()))
    return running


@pytest.mark.parametrize("version", served_versions(DESCRIBE))
def test_each_broker_tells_what_it_has(simulation: Simulation, version: int) -> None:
    size = len(batch())
    assert told(simulation.connect(), version) == {"/a": {("t", 0): size}, "/b": {}}
    assert told(simulation.connect(2), version) == {"/a": {("t", 1): 0}, "/b": {}}
    topics = [{"topic": "t", "partitions": [1, 5]}, {"topic": "nobody", "partitions": [0]}]
    assert told(simulation.connect(), version, topics) == {"/a": {}, "/b": {}}


def test_a_replica_does_not_lag_behind_its_own_log(simulation: Simulation) -> None:
    """The lag is that of a future replica, which is copied to another directory; here none exists."""
    answer = ask(simulation.connect(), DESCRIBE, 5, topics=None)
    [topic] = answer.results[0].topics
    assert simulation.partition().high_watermark > 0
    assert [(partition.offset_lag, partition.is_future_key) for partition in topic.partitions] == [(0, False)]


def test_topics_without_partitions_are_looked_up_in_slices(simulation: Simulation) -> None:
    topics = [{"topic": name, "partitions": []} for name in ("nobody", *["t"] * 2_048)]
    _, count = count_slices(Handling(simulation, DESCRIBE, 5, {"topics": topics}).slices)
    assert count >= 2_048 // 512


@pytest.mark.parametrize("version", served_versions(ALTER))
def test_a_replica_lies_elsewhere(simulation: Simulation, version: int) -> None:
    client = simulation.connect()

    def alter(path: str, topic: str, index: int) -> int:
        dirs = [{"path": path, "topics": [{"name": topic, "partitions": [index]}]}]
        answer = ask(client, ALTER, version, dirs=dirs)
        return int(answer.results[0].partitions[0].error_code)

    assert alter("/b", "t", 0) == NONE
    assert told(client) == {"/a": {}, "/b": {("t", 0): len(batch())}}
    assert alter("/c", "t", 0) == NO_DIR
    assert alter("/a", "t", 1) == NO_REPLICA
    assert alter("/a", "nobody", 0) == UNKNOWN_TOPIC


@pytest.mark.parametrize(
    ("config", "volume"),
    [({}, None), ({"log.memory.bytes": "-1"}, UNBOUNDED), ({"log.memory.full": "delete"}, None)],
)
def test_the_volume_is_what_logs_may_take(config: dict[str, str], volume: int | None) -> None:
    simulation = Simulation(brokers=1, config=config)
    [log_dir] = ask(simulation.connect(), DESCRIBE, 5, topics=[]).results
    bound = simulation.cluster.controller.log_memory.max_bytes
    if volume is None:
        volume = bound if "log.memory.full" in config and bound >= 0 else UNBOUNDED
    assert (log_dir.total_bytes, log_dir.usable_bytes, log_dir.is_cordoned) == (volume, volume, False)
