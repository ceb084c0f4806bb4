"""ListOffsets: the first offset, the last one, and the one at a time; also after an election."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask, served_versions
from support.batches import batch_of
from support.requests import batch, produce
from support.simulation import Simulation

from fakebroker.protocol.record_batch import Record, encode_batch

LIST_OFFSETS = 2
LATEST, EARLIEST, MAXIMUM, EARLIEST_LOCAL, TIERED, PENDING = -1, -2, -3, -4, -5, -6
UNKNOWN_SERVER_ERROR = -1
NONE, UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE, NOT_LEADER, UNSUPPORTED_VERSION = 0, 3, 5, 6, 35
INVALID_REQUEST, FENCED, UNKNOWN_EPOCH, OFFSET_NOT_AVAILABLE = 42, 74, 75, 78
T = 1_700_000_000_000
VERSIONS = served_versions(LIST_OFFSETS)


def listed(
    simulation: Simulation,
    timestamp: int,
    version: int = 10,
    *,
    broker: int = 1,
    replica_id: int = -1,
    epoch: int = -1,
    partitions: tuple[int, ...] = (0,),
    topic: str = "t",
    isolation: int = 0,
) -> list[tuple[int, int, int, int]]:
    """Return (error, timestamp, offset, leader epoch) of each partition."""
    answer: Any = ask(
        simulation.connect(broker),
        LIST_OFFSETS,
        version,
        replica_id=replica_id,
        isolation_level=isolation,
        topics=[
            {
                "name": topic,
                "partitions": [
                    {"partition_index": index, "current_leader_epoch": epoch, "timestamp": timestamp}
                    for index in partitions
                ],
            }
        ],
        timeout=timedelta(0),
    )
    return [
        (int(p.error_code), p.timestamp, p.offset, getattr(p, "leader_epoch", -1))
        for answered in answer.topics
        for p in answered.partitions
    ]


@pytest.fixture
def simulation() -> Simulation:
    """Three batches: offsets 0-1 at T and T+20, 2 at T+10, 3-4 at T+40 and T+30. All are committed."""
    running = Simulation()
    running.topic()
    client = running.connect()
    for start, *timestamps in ((0, 0, 20), (10, 10), (40, 40, 30)):
        records = [Record(None, b"v", timestamp_ms=T + ms) for ms in timestamps]
        client.send(produce("t", records=encode_batch(records, base_timestamp_ms=T + start)))
    return running


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("asked", "timestamp", "offset"),
    [
        (LATEST, -1, 5),
        (EARLIEST, -1, 0),
        (0, T, 0),
        (T, T, 0),
        (T + 1, T + 20, 1),
        (T + 20, T + 20, 1),
        (T + 21, T + 40, 3),
        (T + 40, T + 40, 3),
        (T + 41, -1, -1),
    ],
)
def test_offsets_by_time(simulation: Simulation, version: int, asked: int, timestamp: int, offset: int) -> None:
    epoch = 0 if version >= 4 and offset >= 0 else -1
    assert listed(simulation, asked, version) == [(NONE, timestamp, offset, epoch)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("asked", "since", "found"),
    [
        (MAXIMUM, 7, (NONE, T + 40, 3, 0)),
        (EARLIEST_LOCAL, 8, (NONE, -1, 0, 0)),
        (TIERED, 9, (NONE, -1, -1, -1)),
        (PENDING, 11, (NONE, -1, -1, -1)),
        (-7, 99, None),
    ],
)
def test_special_timestamps_have_a_version(
    simulation: Simulation, version: int, asked: int, since: int, found: tuple[int, int, int, int] | None
) -> None:
    expected = found if found is not None and version >= since else (UNSUPPORTED_VERSION, -1, -1, -1)
    assert listed(simulation, asked, version) == [expected]


@pytest.mark.parametrize("codec", range(5))
def test_a_time_is_found_to_the_record_in_compressed_batches_too(codec: int) -> None:
    running = Simulation()
    running.topic()
    records = [Record(b"k", b"v", timestamp_ms=T + ms) for ms in (0, 40, 20)]
    running.connect().send(produce("t", records=batch_of(records, codec, T)))

    offsets = [listed(running, timestamp)[0][1:3] for timestamp in (T, T + 1, T + 40, T + 41, MAXIMUM)]
    assert offsets == [(T, 0), (T + 40, 1), (T + 40, 1), (-1, -1), (T + 40, 1)]


def test_without_timestamps_the_first_record_has_the_largest() -> None:
    running = Simulation()
    running.topic()
    running.connect().send(produce("t", records=batch(b"a", b"b", timestamp_ms=-1)))

    assert listed(running, MAXIMUM) == [(NONE, -1, 0, 0)]
    assert listed(running, 0) == [(NONE, -1, -1, -1)]


def test_at_log_append_time_the_first_record_of_a_batch_is_found() -> None:
    running = Simulation()
    running.topic(message_timestamp_type="LogAppendTime")
    running.connect().send(produce("t", records=batch(b"a", b"b")))
    ((_, appended_ms, _, _),) = listed(running, MAXIMUM)

    assert listed(running, appended_ms) == listed(running, MAXIMUM) == [(NONE, appended_ms, 0, 0)]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_isolation_level_fails_the_request(simulation: Simulation, version: int) -> None:
    """IsolationLevel.forId; v1 has no levels."""
    results = listed(simulation, LATEST, version, isolation=2, partitions=(0, 9))
    if version == 1:
        assert [error for error, *_ in results] == [NONE, UNKNOWN_TOPIC]
    else:
        assert results == [(UNKNOWN_SERVER_ERROR, -1, -1, -1)] * 2


@pytest.mark.parametrize("asked", [MAXIMUM, 0])
def test_an_empty_partition_has_no_times(asked: int) -> None:
    running = Simulation()
    running.topic()
    assert listed(running, asked) == [(NONE, -1, -1, -1)]
    assert listed(running, LATEST) == listed(running, EARLIEST) == [(NONE, -1, 0, 0)]


@pytest.mark.parametrize(
    ("replica_id", "latest", "at_time"),
    [(-1, (NONE, -1, 5, 0), (NONE, -1, -1, -1)), (3, (NONE, -1, 6, 0), (NONE, T + 99, 5, 0))],
)
@pytest.mark.parametrize("isolation", [0, 1])
def test_consumers_see_what_is_committed_and_followers_all(
    simulation: Simulation, replica_id: int, isolation: int, latest: object, at_time: object
) -> None:
    simulation.followers("frozen")
    simulation.connect().send(produce("t", acks=1, records=batch(b"not yet", timestamp_ms=T + 99)))
    assert listed(simulation, LATEST, replica_id=replica_id, isolation=isolation) == [latest]
    assert listed(simulation, T + 50, replica_id=replica_id, isolation=isolation) == [at_time]


@pytest.mark.parametrize(
    ("broker", "epoch", "replica_id", "error"),
    [
        (2, 1, -1, NONE),
        (2, 0, -1, FENCED),
        (2, 2, -1, UNKNOWN_EPOCH),
        (1, -1, -1, NOT_LEADER),
        (1, 1, -1, NOT_LEADER),
        (1, 0, -1, FENCED),
        (1, -1, -2, NONE),  # a debugging consumer may ask any replica
    ],
)
def test_list_offsets_checks_leader_and_leader_epoch(
    simulation: Simulation, broker: int, epoch: int, replica_id: int, error: int
) -> None:
    simulation.move_leader(2)
    ((got, *_),) = listed(simulation, LATEST, broker=broker, epoch=epoch, replica_id=replica_id)
    assert got == error


def test_epochs_are_told(simulation: Simulation) -> None:
    simulation.move_leader(2)
    simulation.connect(2).send(produce("t", records=batch(b"v", timestamp_ms=T + 100)))
    assert listed(simulation, EARLIEST, broker=2) == [(NONE, -1, 0, 0)]
    assert listed(simulation, T + 21, broker=2) == [(NONE, T + 40, 3, 0)]
    assert listed(simulation, MAXIMUM, broker=2) == [(NONE, T + 100, 5, 1)]
    assert listed(simulation, LATEST, broker=2) == [(NONE, -1, 6, 1)]


@pytest.mark.parametrize("version", VERSIONS)
def test_after_an_election_the_end_is_not_told_before_it_is_committed(version: int) -> None:
    running = Simulation()
    running.topic()
    running.connect().send(produce("t", records=batch(b"v", timestamp_ms=T)))
    running.followers("frozen", broker=3)
    running.connect().send(produce("t", acks=1, records=batch(b"v", timestamp_ms=T + 50)))
    running.move_leader(2)  # it has both records; broker 3 has one
    error = OFFSET_NOT_AVAILABLE if version >= 5 else LEADER_NOT_AVAILABLE
    assert listed(running, LATEST, version, broker=2) == [(error, -1, -1, -1)]
    assert listed(running, T + 50, version, broker=2) == [(error, -1, -1, -1)]  # found, but beyond the watermark
    assert listed(running, T + 51, version, broker=2) == [(error, -1, -1, -1)]  # not found: it may yet come
    assert listed(running, T, version, broker=2)[0][:3] == (NONE, T, 0)
    assert listed(running, EARLIEST, version, broker=2)[0][:3] == (NONE, -1, 0)
    assert listed(running, LATEST, version, broker=2, replica_id=3)[0][:3] == (NONE, -1, 2)
    running.followers("instant", broker=3)
    assert listed(running, LATEST, version, broker=2)[0][:3] == (NONE, -1, 2)


def test_errors_are_told_for_each_partition(simulation: Simulation) -> None:
    assert listed(simulation, LATEST, partitions=(0, 7, 0)) == [
        (INVALID_REQUEST, -1, -1, -1),
        (UNKNOWN_TOPIC, -1, -1, -1),
    ]
    assert listed(simulation, LATEST, topic="nobody") == [(UNKNOWN_TOPIC, -1, -1, -1)]
