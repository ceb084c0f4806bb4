"""Logs that lose old records: by retention.bytes, and by retention.ms."""

from __future__ import annotations

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batches import TIME_MS, keyed, sequenced
from support.messages import decode_response
from support.requests import FETCH, Produced, fetch, produce
from support.simulation import SimulatedClient, Simulation

from fakebroker.cluster.housekeeping import delete_old_records_of
from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.log.retention import start_by_size, start_by_time
from fakebroker.core.replication.partition import Partition

NONE, OFFSET_OUT_OF_RANGE, STORAGE_ERROR = 0, 1, 56
SIZE = len(keyed())
KIB = keyed(bytes(1024 - SIZE))  # a batch of about a kilobyte


def partition_of(simulation: Simulation, topic: str = "t") -> Partition:
    partition = simulation.cluster.metadata.find_partition(topic, 0)
    assert partition is not None
    return partition


def send(client: SimulatedClient, times: int = 1, topic: str = "t", records: bytes | None = None) -> list[int]:
    """Return the error codes of that many produce requests with acks=1."""
    before = len(client.answers)
    for _ in range(times):
        client.send(produce(topic, records=records or keyed(), acks=1))
    return [Produced(frame).partitions[0][0] for _, frame in client.answers[before:]]


def fetched(simulation: Simulation, offset: int) -> tuple[int, int, int]:
    """Return error code, log start offset and bytes of a consumer's fetch."""
    reader = simulation.connect()
    reader.send(fetch("t", offset=offset))
    ((_, frame),) = reader.answers
    partition = decode_response(FETCH, 11, frame)[1].responses[0].partitions[0]
    return int(partition.error_code), partition.log_start_offset, len(partition.records or b"")


def filled(sizes: list[int], watermark: int) -> Log:
    log = Log()
    for index, size in enumerate(sizes):
        log.append(LoggedBatch(index, index, 0, bytes(size), timestamp_ms=index * 10))
    log.update_high_watermark(watermark)
    return log


@given(st.lists(st.integers(1, 9), max_size=9), st.integers(0, 9), st.integers(0, 40))
def test_retention_by_size_keeps_at_least_what_it_says(sizes: list[int], watermark: int, retention: int) -> None:
    """UnifiedLog.deleteRetentionSizeBreachedSegments: a segment is deleted if the rest is not below retention.bytes."""
    log = filled(sizes, watermark)
    start = start_by_size(log, retention)
    log.maybe_increment_log_start_offset(start)
    log.check_invariants()
    assert log.log_start_offset == start <= log.high_watermark
    assert log.size_in_bytes >= min(retention, sum(sizes))
    if start < log.high_watermark:
        assert log.size_in_bytes - sizes[start] < retention


@given(st.lists(st.just(1), max_size=9), st.integers(0, 9), st.integers(0, 120), st.integers(0, 120))
def test_retention_by_time(sizes: list[int], watermark: int, retention_ms: int, now_ms: int) -> None:
    log = filled(sizes, watermark)
    start = start_by_time(log, retention_ms, now_ms)
    old = [index for index in range(len(sizes)) if now_ms - index * 10 > retention_ms]
    assert start == min(len(old), log.high_watermark)


@given(st.lists(st.tuples(st.sampled_from(["append", "delete", "truncate"]), st.integers(0, 40)), max_size=40))
def test_a_log_that_grows_and_shrinks_at_both_ends_reads_like_a_list(steps: list[tuple[str, int]]) -> None:
    log, model, start, end = Log(), dict[int, bytes](), 0, 0
    for step, number in steps:
        if step == "append":
            log.append(LoggedBatch(end, end, 0, bytes([number]) * 17))
            model[end] = pack(">qii", end, 5, 0) + bytes([number])
            end += 1
        elif step == "delete":
            log.maybe_increment_log_start_offset(number)
            start = max(start, min(number, end))
        elif number >= start:
            log.truncate_to(number)
            end = min(end, max(number, start))
        model = {offset: data for offset, data in model.items() if start <= offset < end}
        log.check_invariants()
        assert (log.log_start_offset, log.log_end_offset) == (start, end)
        assert log.read(start, end, 10**6).join() == b"".join(model.values())
        middle = (start + end) // 2
        assert log.read(middle, end, 10**6).join() == b"".join(data for at, data in model.items() if at >= middle)


def test_retention_bytes_is_kept_with_each_append() -> None:
    simulation = Simulation()
    simulation.topic(retention_bytes=5 * SIZE)
    client = simulation.connect()
    send(client, 100)
    log = partition_of(simulation).leader_log
    # The last record is not yet replicated when its own append looks.
    assert (log.log_start_offset, log.log_end_offset, log.size_in_bytes) == (95, 100, 5 * SIZE)
    assert fetched(simulation, 94) == (OFFSET_OUT_OF_RANGE, -1, 0)
    assert fetched(simulation, 95) == (NONE, 95, 5 * SIZE)
    assert all(replica.log.size_in_bytes <= 5 * SIZE for replica in partition_of(simulation).replicas.values())
    client.send(produce("t", records=keyed(), acks=1))
    partition = Produced(client.answers[-1][1]).response.responses[0].partition_responses[0]
    assert (partition.base_offset, partition.log_start_offset) == (100, 95)


@pytest.mark.parametrize(("retention_bytes", "retention_ms"), [(0, 0), (0, -1), (-1, 0)])
def test_what_is_not_committed_is_not_deleted(retention_bytes: int, retention_ms: int) -> None:
    simulation = Simulation(followers="frozen")
    simulation.topic(retention_bytes=retention_bytes, retention_ms=retention_ms, min_insync_replicas=2)
    client = simulation.connect()
    send(client, 10)
    simulation.advance(400_000)
    log = partition_of(simulation).leader_log
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (0, 0, 10)
    simulation.followers("instant")
    simulation.advance(300_000)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (10, 10, 10)


def test_retention_ms_is_looked_at_after_30_s_and_every_5_minutes() -> None:
    simulation = Simulation()
    simulation.topic(retention_ms=60_000)
    client = simulation.connect()
    log = partition_of(simulation).leader_log
    send(client, records=keyed(base_timestamp_ms=TIME_MS - 30_000))
    send(client, records=keyed(base_timestamp_ms=TIME_MS - 30_001))
    send(client, records=keyed(base_timestamp_ms=-1))  # no timestamp: the time of the append counts
    simulation.advance(30_000)
    assert log.log_start_offset == 0  # 60 s old is not older than 60 s, and what follows waits for it
    simulation.advance(299_999)
    assert log.log_start_offset == 0
    simulation.advance(1)
    assert log.log_start_offset == 3


def test_compacted_topics_keep_theirs() -> None:
    simulation = Simulation()
    simulation.topic(cleanup_policy="compact", retention_bytes=0, retention_ms=0)
    send(simulation.connect(), 5)
    simulation.advance(400_000)
    assert partition_of(simulation).leader_log.log_start_offset == 0


def test_a_frozen_follower_that_missed_what_is_deleted_starts_anew() -> None:
    simulation = Simulation()
    simulation.topic(retention_bytes=2 * SIZE)
    client = simulation.connect()
    send(client, 4)
    simulation.followers("frozen", broker=3)
    send(client, 6)
    simulation.advance(45_000)  # it leaves the ISR
    send(client, 1)
    partition = partition_of(simulation)
    lagging = partition.replicas[3].log
    assert partition.leader_log.log_start_offset > 4
    assert (lagging.log_start_offset, lagging.log_end_offset, lagging.size_in_bytes) == (4, 4, 0)
    simulation.followers(None)
    assert lagging.batches == partition.leader_log.batches
    assert partition.isr == {1, 2, 3}


def test_a_producer_whose_records_are_deleted_is_remembered() -> None:
    simulation = Simulation()
    simulation.topic(retention_bytes=0)
    client = simulation.connect()
    for sequence in range(3):
        send(client, records=sequenced(1, 0, sequence))
    send(client)
    delete_old_records_of(partition_of(simulation), TIME_MS)
    assert partition_of(simulation).leader_log.log_start_offset == 4
    assert send(client, records=sequenced(1, 0, 1)) == [NONE]
    assert send(client, records=sequenced(1, 0, 7)) == [45]


def test_the_epochs_of_deleted_records_are_forgotten() -> None:
    simulation = Simulation()
    simulation.topic(retention_bytes=0)
    client = simulation.connect()
    send(client, 3)
    partition = partition_of(simulation)
    partition.become_leader(1, {1, 2, 3}, 0)
    delete_old_records_of(partition, TIME_MS)
    assert partition.leader_log.log_start_offset == 3
    for replica in partition.replicas.values():
        replica.check_invariants()
        assert [entry.start_offset for entry in replica.leader_epochs.entries] == [3]
