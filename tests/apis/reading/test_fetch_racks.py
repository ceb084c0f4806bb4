"""A consumer that sends its rack (KIP-392; core/replication/preferred_replica.py)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask
from support.requests import FETCH, batch, produce
from support.simulation import Simulation

KAFKAS_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
RACKS = {1: "a", 2: "b", 3: "b", 4: "c"}


def cluster(selector: str | None = KAFKAS_SELECTOR) -> Simulation:
    """Broker 1 leads, 2 to 4 follow; a record is on all of them."""
    config = {"log.retention.ms": "-1"} | ({"replica.selector.class": selector} if selector else {})
    simulation = Simulation(brokers=4, config=config, racks=RACKS)
    simulation.topic("t", replicas=4)
    simulation.connect().send(produce("t", acks=-1, records=batch(b"a")))
    return simulation


def fetched(simulation: Simulation, rack: str, offset: int = 0, broker: int = 1, **values: Any) -> tuple[int, int, int]:
    """Return the preferred replica, the error, and the number of bytes read."""
    defaults = {"replica_id": -1, "max_wait": timedelta(0), "min_bytes": 1, "max_bytes": 1 << 20, "isolation_level": 0}
    part = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    session = {"session_id": 0, "session_epoch": -1, "forgotten_topics_data": (), "rack_id": rack}
    topics = [{"topic": "t", "partitions": [part]}]
    [topic] = ask(simulation.connect(broker), FETCH, 12, **defaults, **session, topics=topics, **values).responses
    [partition_response] = topic.partitions
    return (
        partition_response.preferred_read_replica,
        int(partition_response.error_code),
        len(partition_response.records or b""),
    )


SIZE = len(batch(b"a"))


@pytest.mark.parametrize(
    ("selector", "expected"),
    [(None, -1), (KAFKAS_SELECTOR, 4), ("RackAwareReplicaSelector", 4), ("org.example.Mine", -1)],
)
def test_the_setting_of_the_replica_selector_decides_the_preferred_read_replica(
    selector: str | None, expected: int
) -> None:
    assert fetched(cluster(selector), "c") == (expected, 0, 0 if expected > 0 else SIZE)


@pytest.mark.parametrize("rack", ["", "a", "nowhere"])
def test_without_a_better_replica_the_leader_serves_the_fetch(rack: str) -> None:
    assert fetched(cluster(), rack) == (-1, 0, SIZE)


def test_the_replica_with_more_records_is_preferred() -> None:
    simulation = cluster()
    simulation.followers("frozen", broker=3)
    simulation.connect().send(produce("t", acks=1, records=batch(b"b")))
    assert fetched(simulation, "b") == (2, 0, 0)
    simulation.followers(None)
    assert fetched(simulation, "b") == (3, 0, 0)


def test_a_replica_without_the_offset_is_not_preferred() -> None:
    simulation = cluster()
    simulation.followers("frozen", broker=4)
    simulation.connect().send(produce("t", acks=1, records=batch(b"b")))
    assert fetched(simulation, "c", 1) == (4, 0, 0)
    assert fetched(simulation, "c", 2) == (-1, 0, 0)


def test_a_stopped_replica_is_not_preferred() -> None:
    simulation = cluster()
    simulation.stop(4)
    assert fetched(simulation, "c") == (-1, 0, SIZE)


def test_a_replica_outside_the_isr_is_not_preferred() -> None:
    simulation = cluster()
    simulation.followers("frozen", broker=4)
    simulation.connect().send(produce("t", acks=1, records=batch(b"b")))
    simulation.advance(60_000)
    assert simulation.partition("t").isr == {1, 2, 3}
    assert fetched(simulation, "c") == (-1, 0, 2 * SIZE)


def test_a_follower_serves_up_to_its_own_watermark_and_redirects_no_consumer() -> None:
    simulation = cluster()
    assert fetched(simulation, "c", broker=2) == (-1, 0, SIZE)
