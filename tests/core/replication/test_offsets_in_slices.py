"""A ListOffsets by time takes little memory and few steps, and its response is right at the time of the response."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest
from support import doses
from support.batches import TIME_MS, batch_of, keyed
from support.simulation import Simulation

from fakebroker.core.replication.fetch import OffsetQuery, TimestampAndOffset
from fakebroker.protocol.compression import Codec
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.plain_batch import is_plain
from fakebroker.protocol.slices import Slices, finish
from fakebroker.protocol.varint import encode_varint

COUNT = 20_000
LARGE = 100_000_000


def record(index: int, timestamp_delta: int) -> bytes:
    body = b"\0" + encode_varint(timestamp_delta) + encode_varint(index) + b"\1\1\0"
    return encode_varint(len(body)) + body


def asked(codec: int) -> tuple[Simulation, Callable[[int], Slices[TimestampAndOffset]]]:
    """Return a cluster with a log of one batch, and a function that searches it. Only the last record is a second
    late."""
    simulation = Simulation()
    simulation.topic(max_message_bytes=LARGE, segment_bytes=LARGE)
    body = b"".join(record(index, 0) for index in range(COUNT - 1)) + record(COUNT - 1, 1_000)
    late = TIME_MS + 1_000
    batch = batch_of([], codec, body=body, record_count=COUNT, last_offset_delta=COUNT - 1, max_timestamp_ms=late)
    partition = simulation.partition()
    partition.append_records_to_leader(batch, is_plain(batch), 1, simulation.now)
    partition.leader_log.update_high_watermark(COUNT)
    manager = simulation.cluster.brokers[1].replicas
    return simulation, lambda timestamp_ms: manager.fetch_offset(OffsetQuery(partition, timestamp_ms))


@pytest.mark.parametrize("codec", doses.nightly_after(2, [Codec.NONE, Codec.ZSTD, Codec.GZIP, Codec.LZ4]))
def test_a_time_in_a_batch_of_very_many_records(codec: Codec) -> None:
    """A request of 42 bytes once took 150 MiB."""
    _, ask = asked(codec)
    for timestamp_ms in (TIME_MS + 1, -3):
        tracemalloc.start()
        try:
            slices = ask(timestamp_ms)
            for _ in range(15):
                next(slices)
            assert finish(slices) == TimestampAndOffset(TIME_MS + 1_000, COUNT - 1, 0)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 2_000_000
    # It stops at the first that fits.
    slices = ask(TIME_MS)
    with pytest.raises(StopIteration) as end:
        next(slices)
    assert end.value.value == TimestampAndOffset(TIME_MS, 0, 0)


def test_the_leader_changes_meanwhile() -> None:
    simulation, ask = asked(Codec.GZIP)
    slices = ask(TIME_MS + 1)
    next(slices)
    simulation.move_leader(2)
    with pytest.raises(KafkaError) as caught:
        finish(slices)
    assert caught.value.code is ErrorCode.not_leader_or_follower


def test_the_topic_is_deleted_meanwhile() -> None:
    simulation, ask = asked(Codec.GZIP)
    slices = ask(TIME_MS + 1)
    next(slices)
    simulation.delete_topic()
    with pytest.raises(KafkaError) as caught:
        finish(slices)
    assert caught.value.code is ErrorCode.unknown_topic_or_partition


def test_what_was_found_is_deleted_meanwhile() -> None:
    simulation, ask = asked(Codec.GZIP)
    partition = simulation.partition()
    newer = keyed(base_timestamp_ms=TIME_MS + 500)
    partition.append_records_to_leader(newer, is_plain(newer), 1, simulation.now)
    partition.leader_log.update_high_watermark(COUNT + 1)
    slices = ask(TIME_MS + 500)
    next(slices)
    partition.delete_records_before(COUNT)
    assert finish(slices) == TimestampAndOffset(TIME_MS + 500, COUNT, 0)


def test_very_many_batches_are_looked_through_once() -> None:
    """119 searches over 100,000 batches once took 5.5 s."""
    simulation = Simulation()
    simulation.topic()
    partition = simulation.partition()
    batch = keyed()
    for _ in range(5_000):
        partition.append_records_to_leader(batch, True, 1, simulation.now)
    partition.leader_log.update_high_watermark(5_000)
    manager = simulation.cluster.brokers[1].replicas
    slices = manager.fetch_offset(OffsetQuery(partition, TIME_MS + 1))
    for _ in range(4):
        next(slices)
    assert finish(slices) == TimestampAndOffset()
    for timestamp_ms, expected in ((TIME_MS + 1, -1), (TIME_MS, 0), (-3, 0)):
        with pytest.raises(StopIteration) as end:
            next(manager.fetch_offset(OffsetQuery(partition, timestamp_ms)))
        assert end.value.value.offset == expected
