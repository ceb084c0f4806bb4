"""A skip of the clock shortens the waits of clients, and none of their own deadlines."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from support.answers import answers
from support.asking import ask
from support.external_follower import ExternalFollower
from support.requests import FETCH, batch, metadata, produce
from support.simulation import START_MONO_MS, START_WALL_MS, SimulatedClient, Simulation
from support.skips import make_frozen_topic, skip, time_out

MAX_IDLE_MS, LAG_MAX_MS, EVICTION_MS = 600_000, 30_000, 120_000
DAY_MS, EXPIRATION_CHECK_MS, RETENTION_CHECK_MS = 86_400_000, 600_000, 300_000
GET_TELEMETRY, THROTTLED = 71, 89
NONE, REQUEST_TIMED_OUT, SESSION_ID_NOT_FOUND = 0, 7, 70
ME = UUID(int=0xC0FFEE)


@pytest.fixture
def simulation() -> Simulation:
    running = Simulation(config={"max.incremental.fetch.session.cache.slots": "8", "replica.lag.time.max.ms": "30000"})
    running.topic("t")
    make_frozen_topic(running)
    return running


def test_nothing_is_skipped_without_a_waiting_client(simulation: Simulation) -> None:
    simulation.connect()

    assert not skip(simulation)
    assert simulation.skipped_ms == 0


def test_time_of_day_is_not_skipped(simulation: Simulation) -> None:
    before = simulation.now
    time_out(simulation, 30_000)

    assert simulation.now.mono_ms - before.mono_ms == 30_000
    assert simulation.now.wall_ms == before.wall_ms
    assert simulation.cluster.client_ms == START_MONO_MS


def test_a_skip_does_not_stop_at_a_deadline_of_clients(simulation: Simulation) -> None:
    """The connection is idle for too long by the clock, and not by its client's time."""
    simulation.connect()
    time_out(simulation, 2 * MAX_IDLE_MS)

    assert simulation.elapsed_ms == 0


def test_a_connection_is_idle_for_as_long_as_its_client_is_silent(simulation: Simulation) -> None:
    speaking, silent = simulation.connect(), simulation.connect()
    for _ in range(10):
        time_out(simulation, MAX_IDLE_MS)
        simulation.advance(MAX_IDLE_MS // 10)
        speaking.send(metadata([]))
    time_out(simulation, MAX_IDLE_MS)
    not_yet = silent.closed
    simulation.advance(1)

    assert not_yet is None
    assert silent.closed_ms == MAX_IDLE_MS + 1
    assert speaking.closed is None


def test_a_follower_that_a_client_plays_is_behind_for_no_longer_than_it_lives(simulation: Simulation) -> None:
    simulation.followers("external", "t", 0, 3)
    follower = ExternalFollower(simulation, 3)
    follower.fetch(0)
    simulation.connect().send(produce("t", acks=1))
    time_out(simulation, 2 * LAG_MAX_MS)
    after_the_skip = list(simulation.partition().isr_ids)
    simulation.advance(2 * LAG_MAX_MS)

    assert after_the_skip == [1, 2, 3]
    assert simulation.partition().isr_ids == [1, 2]  # its client is silent


@pytest.mark.parametrize(("lived_ms", "is_known"), [(0, True), (DAY_MS + 2 * EXPIRATION_CHECK_MS, False)])
def test_a_producer_id_is_as_old_as_its_last_batch_by_the_clock_of_its_client(
    simulation: Simulation, lived_ms: int, is_known: bool
) -> None:
    """The producer id expires after a day (producer.id.expiration.ms). A batch that is sent again then is appended
    twice."""
    client = simulation.connect()
    records = batch(timestamp_ms=START_WALL_MS, producer_id=5, producer_epoch=0, base_sequence=0)
    client.send(produce("t", records=records))
    time_out(simulation, 2 * DAY_MS)
    simulation.advance(lived_ms)
    client = simulation.connect()
    client.send(produce("t", records=records))

    assert [offset for _, _, offset in answers(client)] == [0 if is_known else 1]


def test_records_are_as_old_as_their_clients_take_them_for(simulation: Simulation) -> None:
    simulation.topic("short", retention_ms=DAY_MS)
    simulation.connect().send(produce("short", records=batch(timestamp_ms=START_WALL_MS)))
    time_out(simulation, 2 * DAY_MS)
    after_the_skip = simulation.partition("short").leader_log.log_start_offset
    simulation.advance(DAY_MS + 2 * RETENTION_CHECK_MS)

    assert after_the_skip == 0
    assert simulation.partition("short").leader_log.log_start_offset == 1


def session(client: SimulatedClient, session_id: int, epoch: int) -> Any:
    partition = {
        "partition": 0, "current_leader_epoch": -1, "fetch_offset": 0, "last_fetched_epoch": -1,
        "log_start_offset": -1, "partition_max_bytes": 1 << 20,
    }  # fmt: skip
    return ask(
        client,
        FETCH,
        11,
        replica_id=-1,
        max_wait=timedelta(0),
        min_bytes=0,
        max_bytes=1 << 20,
        isolation_level=0,
        session_id=session_id,
        session_epoch=epoch,
        topics=[{"topic": "t", "partitions": [partition]}] if epoch == 0 else [],
        forgotten_topics_data=[],
        rack_id="",
    )


@pytest.mark.parametrize(("lived_ms", "error"), [(0, NONE), (EVICTION_MS + 1, SESSION_ID_NOT_FOUND)])
def test_a_fetch_session_is_as_old_as_its_client(simulation: Simulation, lived_ms: int, error: int) -> None:
    """Eight shards have one session each. A ninth session evicts the first one if that was not used for
    long."""
    client = simulation.connect()
    opened = session(client, 0, 0)
    time_out(simulation, 2 * EVICTION_MS)
    simulation.advance(lived_ms)
    for _ in range(8):
        session(simulation.connect(), 0, 0)

    assert int(session(client, opened.session_id, 1).error_code) == error


def test_telemetry_is_asked_for_as_often_as_clients_measure(simulation: Simulation) -> None:
    simulation.cluster.controller.client_metrics.set("s", {"interval.ms": "60000", "metrics": "*"})
    client = simulation.connect()
    errors = [int(ask(client, GET_TELEMETRY, 0, client_instance_id=ME).error_code)]
    time_out(simulation, 120_000)
    errors.append(int(ask(client, GET_TELEMETRY, 0, client_instance_id=ME).error_code))
    simulation.advance(60_000)
    errors.append(int(ask(client, GET_TELEMETRY, 0, client_instance_id=ME).error_code))

    assert errors == [NONE, THROTTLED, NONE]
