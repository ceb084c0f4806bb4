"""DeleteRecords, every version (apis/partitions/delete_records.py, core/replication/delete_records.py)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask, served_versions
from support.messages import decode_response
from support.requests import batch, produce, request
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.journal.events import Expired, Parked
from fakebroker.core.journal.journal import Journal

DELETE_RECORDS = 21
NONE, OUT_OF_RANGE, UNKNOWN_TOPIC, NOT_LEADER, TIMED_OUT, POLICY = 0, 1, 3, 6, 7, 44
TIMEOUT_MS = 5_000
SESSION_MS = 9_000  # of a broker


def filled(followers: str = "instant", journal: Journal | None = None) -> tuple[Simulation, SimulatedClient]:
    """Return a cluster with three batches of a record each, on all three replicas."""
    simulation = Simulation(brokers=3, journal=journal)
    simulation.topic("t")
    client = simulation.connect()
    for _ in range(3):
        client.send(produce("t", records=batch()))
    simulation.followers(followers)
    client.answers.clear()
    return simulation, client


def values(offset: int, partition: int = 0, topic: str = "t") -> dict[str, Any]:
    parts = [{"partition_index": partition, "offset": offset}]
    return {"topics": [{"name": topic, "partitions": parts}], "timeout": timedelta(milliseconds=TIMEOUT_MS)}


def result(answer: Any) -> tuple[int, int]:
    [topic] = answer.topics
    [partition] = topic.partitions
    return int(partition.error_code), partition.low_watermark


def answers(client: SimulatedClient) -> list[tuple[int, tuple[int, int]]]:
    """Return the times and contents of the responses."""
    return [(at, result(decode_response(DELETE_RECORDS, 2, frame)[1])) for at, frame in client.answers]


@pytest.mark.parametrize("version", served_versions(DELETE_RECORDS))
@pytest.mark.parametrize(
    ("offset", "expected"),
    [(2, (NONE, 2)), (-1, (NONE, 3)), (0, (NONE, 0)), (4, (OUT_OF_RANGE, -1)), (-2, (OUT_OF_RANGE, -1))],
)
def test_an_offset(version: int, offset: int, expected: tuple[int, int]) -> None:
    simulation, client = filled()
    assert result(ask(client, DELETE_RECORDS, version, **values(offset))) == expected
    start = max(expected[1], 0)
    assert [replica.log.log_start_offset for replica in simulation.partition().replicas.values()] == [start] * 3
    simulation.cluster.check_invariants()


def test_only_the_leader_of_a_partition_deletes_its_records() -> None:
    simulation, client = filled()
    assert result(ask(client, DELETE_RECORDS, 2, **values(1, partition=1))) == (UNKNOWN_TOPIC, -1)
    assert result(ask(simulation.connect(2), DELETE_RECORDS, 2, **values(1))) == (NOT_LEADER, -1)


@pytest.mark.parametrize(("policy", "error"), [("compact", POLICY), ("compact,delete", NONE)])
def test_a_compacted_topic_keeps_its_records(policy: str, error: int) -> None:
    simulation = Simulation(brokers=1)
    simulation.topic("t", replicas=1, cleanup_policy=policy)
    assert result(ask(simulation.connect(), DELETE_RECORDS, 2, **values(0)))[0] == error


def test_a_frozen_follower_holds_it_until_its_timeout() -> None:
    simulation, client = filled("frozen")
    client.send(request(DELETE_RECORDS, 2, values(2)))
    assert client.answers == []
    assert simulation.partition().leader_log.log_start_offset == 2
    simulation.advance(TIMEOUT_MS)
    assert answers(client) == [(TIMEOUT_MS, (TIMED_OUT, 0))]


def test_the_journal_records_that_it_is_parked_and_expires() -> None:
    journal = Journal()
    simulation, client = filled("frozen", journal)
    client.send(request(DELETE_RECORDS, 2, values(2)))
    simulation.advance(TIMEOUT_MS)
    [parked] = [event for event in journal if isinstance(event, Parked) and event.api == "DeleteRecords"]
    [expired] = [event for event in journal if isinstance(event, Expired)]
    assert parked.request == expired.request
    assert parked.timeout_ms == TIMEOUT_MS
    assert parked.deadline_mono_ms == expired.mono_ms == parked.mono_ms + TIMEOUT_MS


def test_a_follower_that_is_thawed_lets_it_go() -> None:
    simulation, client = filled("frozen")
    client.send(request(DELETE_RECORDS, 2, values(2)))
    simulation.advance(100)
    simulation.followers("instant")
    assert answers(client) == [(100, (NONE, 2))]


def test_a_lagging_follower_tells_its_start_later() -> None:
    simulation, client = filled("lagging:70")
    client.send(request(DELETE_RECORDS, 2, values(1)))
    simulation.advance(200)
    assert answers(client) == [(70, (NONE, 1))]


def test_a_stopped_broker_is_not_waited_for() -> None:
    simulation, client = filled("frozen")
    simulation.stop(2)
    simulation.stop(3)
    client.answers.clear()
    assert result(ask(client, DELETE_RECORDS, 2, **values(3))) == (NONE, 3)


@pytest.mark.parametrize("event", ["move", "delete"])
def test_a_leader_that_goes_while_it_waits_tells_it_nothing(event: str) -> None:
    simulation, client = filled("frozen")
    client.send(request(DELETE_RECORDS, 2, values(2)))
    simulation.advance(10)
    if event == "move":
        simulation.move_leader(2)
    else:
        simulation.delete_topic()
    assert answers(client) == []
    simulation.advance(60_000)
    [(_, deletion)] = answers(client)
    assert deletion == (TIMED_OUT, 0)


def test_a_broker_that_dies_never_answers() -> None:
    simulation, client = filled("frozen")
    client.send(request(DELETE_RECORDS, 2, values(2)))
    simulation.kill(1)
    simulation.advance(max(TIMEOUT_MS, SESSION_MS))
    assert client.answers == []
    assert not simulation.cluster.has_deadlines
