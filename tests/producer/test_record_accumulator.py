"""The accumulator of both generations: its invariants, and its main rules one by one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.producer.accumulator_player import START_MS, AccumulatorPlayer
from conformance.producer.sequences import sequence
from fakebroker.producer.accumulator_2_0 import RecordAccumulator20
from fakebroker.producer.accumulator_4_3 import RecordAccumulator43
from fakebroker.producer.append import RecordAppend
from fakebroker.producer.errors import ProducerClosedError
from fakebroker.producer.metadata_snapshot import NO_LEADER, MetadataSnapshot, PartitionInfo
from fakebroker.producer.partitioner import UNKNOWN_PARTITION
from fakebroker.producer.producer_batch import Callback, ProducerBatch
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.record_accumulator import NO_DELAY_MS, RecordAccumulator
from fakebroker.protocol.record_batch import decode_records
from fakebroker.protocol.topic_partition import TopicPartition

GENERATIONS = ("2.0", "4.3")
FIRST = TopicPartition("t", 0)
METADATA = MetadataSnapshot([PartitionInfo(FIRST, 1), PartitionInfo(TopicPartition("t", 1), 1)])

both = pytest.mark.parametrize("generation", GENERATIONS)


def accumulator(generation: str, **settings: object) -> RecordAccumulator:
    config = ProducerConfig(generation, {name.replace("_", "."): value for name, value in settings.items()})
    if generation == "2.0":
        return RecordAccumulator20(config)
    return RecordAccumulator43(config, lambda: 0, lambda: 0.5, jitter=0.0)


def append(
    to: RecordAccumulator, value: bytes, now_ms: int = 0, partition: int = 0, callback: Callback | None = None
) -> RecordAppend:
    return to.append("t", partition, 0, None, value, (), callback, 100, now_ms, METADATA, lambda done: None)


def ready(of: RecordAccumulator, metadata: MetadataSnapshot, now_ms: int) -> tuple[list[int], int, set[str]]:
    result = of.ready(metadata, now_ms)
    return result.ready_nodes, result.next_ready_check_delay_ms, result.unknown_leader_topics


def drain(of: RecordAccumulator, now_ms: int, max_size: int = 1_000_000) -> list[ProducerBatch]:
    return of.drain(METADATA, [1], max_size, now_ms)[1]


@both
def test_a_record_lingers_and_then_its_node_is_ready(generation: str) -> None:
    records = accumulator(generation, linger_ms=20)
    append(records, b"one", 100)
    assert ready(records, METADATA, 100) == ([], 20, set())
    assert ready(records, METADATA, 119) == ([], 1, set())
    assert ready(records, METADATA, 120) == ([1], NO_DELAY_MS, set())


@both
def test_a_full_batch_a_flush_and_an_end_do_not_linger(generation: str) -> None:
    for what in ("full", "flush", "close"):
        records = accumulator(generation, linger_ms=20, batch_size=100)
        append(records, b"one")
        if what == "full":
            append(records, b"x" * 90)
        elif what == "flush":
            assert len(records.begin_flush()) == 1
        else:
            records.close()
        assert records.ready(METADATA, 0).ready_nodes == [1], what


@both
def test_with_an_append_that_waits_for_memory_all_batches_are_ready(generation: str) -> None:
    records = accumulator(generation, linger_ms=20, batch_size=100, buffer_memory=100)
    append(records, b"one")
    assert records.ready(METADATA, 0).ready_nodes == []
    waits = append(records, b"two", partition=1)
    assert not waits.is_done
    assert records.ready(METADATA, 0).ready_nodes == [1]


@both
def test_a_topic_without_a_leader_is_told(generation: str) -> None:
    records = accumulator(generation)
    append(records, b"one")
    nobody = MetadataSnapshot([PartitionInfo(FIRST, NO_LEADER)])
    assert ready(records, nobody, 0) == ([], NO_DELAY_MS, {"t"})


@both
def test_a_muted_partition_is_not_drained(generation: str) -> None:
    records = accumulator(generation)
    append(records, b"one")
    records.mute_partition(FIRST)
    assert ready(records, METADATA, 1_000) == ([], NO_DELAY_MS, set())
    assert drain(records, 1_000) == []
    records.unmute_partition(FIRST, 1_000)
    assert records.ready(METADATA, 1_000).ready_nodes == [1]


def test_in_2_0_a_throttled_partition_is_muted_until_its_time() -> None:
    records = accumulator("2.0")
    append(records, b"one")
    records.unmute_partition(FIRST, 50)
    assert drain(records, 49) == []
    assert len(drain(records, 50)) == 1


@pytest.mark.parametrize(("generation", "last_ms"), [("2.0", 31), ("4.3", 30)])
def test_expiry_of_a_muted_partition(generation: str, last_ms: int) -> None:
    """The batch expires since KIP-91, and not in 2.0."""
    settings = {"request_timeout_ms": 30, "linger_ms": 0}
    if generation != "2.0":
        settings["delivery_timeout_ms"] = 30
    records = accumulator(generation, **settings)
    append(records, b"one")
    records.mute_partition(FIRST)
    assert len(records.expired_batches(last_ms)) == (generation != "2.0")


def test_what_has_expired_takes_no_more_records() -> None:
    records = accumulator("4.3", request_timeout_ms=30, linger_ms=0, delivery_timeout_ms=30)
    append(records, b"one")
    [batch] = records.expired_batches(30)
    assert not batch.try_append(30, None, b"two", (), None, 30)
    assert batch.record_count == 1


@both
def test_a_retry_waits_for_its_back_off_and_comes_first(generation: str) -> None:
    records = accumulator(generation, retry_backoff_ms=10, batch_size=0, linger_ms=0)
    append(records, b"x" * 40)
    append(records, b"x" * 40)
    [first] = drain(records, 0)
    assert first.record_count == 1
    records.reenqueue(first, 5)
    assert ready(records, METADATA, 14) == ([], 1, set())
    assert drain(records, 14) == [], "the other stays behind it"
    assert drain(records, 15) == [first]


def test_in_2_0_a_piece_before_another_batch_is_full() -> None:
    """Further records fit into the piece. It expires by its last append, and does not linger first."""
    records = accumulator("2.0", request_timeout_ms=30, linger_ms=50, batch_size=1_000)
    append(records, b"one")
    append(records, b"two")
    [batch] = drain(records, 20)
    append(records, b"three", 20)
    records.split_and_reenqueue(batch)
    records.complete_and_deallocate(batch)
    assert records.ready(METADATA, 21).ready_nodes == [1]
    assert [len(records.expired_batches(at_ms)) for at_ms in (30, 31)] == [0, 1]


def test_the_second_retry_waits_twice_as_long() -> None:
    records = accumulator("4.3", retry_backoff_ms=10, linger_ms=0)
    append(records, b"one")
    [batch] = drain(records, 0)
    records.reenqueue(batch, 0)
    assert drain(records, 10) == [batch]
    records.reenqueue(batch, 10)
    assert drain(records, 29) == []
    assert drain(records, 30) == [batch]


def test_memory_of_what_is_in_flight_stays_taken_until_it_is_answered() -> None:
    records = accumulator("4.3", batch_size=100, buffer_memory=300)
    append(records, b"one")
    [batch] = drain(records, 0)
    batch.is_inflight = True
    append(records, b"two")
    records.close()
    records.abort_incomplete_batches(ProducerClosedError("gone"), 0)
    assert records.free.available_memory() == 200
    batch.is_inflight = False
    records.deallocate(batch)
    records.deallocate(batch)
    assert records.free.available_memory() == 300, "once"
    assert not records.has_undrained()


def test_in_4_3_a_blocked_caller_gets_an_error_when_the_producer_is_closed() -> None:
    records = accumulator("4.3", batch_size=100, buffer_memory=100)
    append(records, b"one")
    waits = append(records, b"two", partition=1)
    records.close()
    records.run_woken(1)
    assert isinstance(waits.error, ProducerClosedError)
    assert isinstance(append(records, b"three").error, ProducerClosedError)


@both
def test_an_append_that_finds_a_batch_after_its_wait_returns_its_memory(generation: str) -> None:
    records = accumulator(generation, batch_size=100, buffer_memory=200)
    append(records, b"x" * 100)  # more than a batch: all but a few bytes
    waits = [append(records, b"two", partition=1), append(records, b"three", partition=1)]
    [batch] = drain(records, 0)
    batch.complete(0)
    records.complete_and_deallocate(batch)
    records.run_woken(1)
    assert [(one.is_done, one.new_batch_created) for one in waits] == [(True, True), (True, False)]
    assert records.free.available_memory() == 100
    records.check_invariants()


def test_in_4_3_an_append_after_its_wait_counts_its_own_bytes_towards_the_next_partition() -> None:
    choices = iter([0, 1])
    config = ProducerConfig("4.3", {"batch.size": 100, "buffer.memory": 200})
    records = RecordAccumulator43(config, lambda: next(choices), lambda: 0.5, jitter=0.0)
    append(records, b"x" * 100)  # more than a batch: all but a few bytes
    waits = [append(records, b"y" * 12, partition=UNKNOWN_PARTITION) for _ in range(2)]
    assert [one.is_done for one in waits] == [False, False]
    [batch] = drain(records, 0)
    batch.complete(0)
    records.complete_and_deallocate(batch)
    records.run_woken(1)
    assert [(one.is_done, one.new_batch_created) for one in waits] == [(True, True), (True, False)]
    assert append(records, b"", 1, UNKNOWN_PARTITION).partition == 0, "it moves on after 200 bytes, not after 99"


@both
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 120), st.booleans()), max_size=30))
def test_records_of_a_partition_leave_in_their_order(generation: str, sent: list[tuple[int, int, bool]]) -> None:
    records = accumulator(generation, batch_size=150)
    appended: dict[int, list[bytes | None]] = {0: [], 1: []}
    left: dict[int, list[bytes | None]] = {0: [], 1: []}

    def take(now_ms: int) -> None:
        for batch in drain(records, now_ms, 200):
            left[batch.partition.partition] += [record.value for record in decode_records(batch.records())]
            batch.complete(0)
            records.complete_and_deallocate(batch)

    for at, (partition, size, drains) in enumerate(sent):
        value = b"%d" % at + b"x" * size
        assert append(records, value, partition=partition).is_done
        appended[partition].append(value)
        if drains:
            take(at)
    while records.has_undrained():
        take(1_000)
    assert left == appended
    assert records.free.available_memory() == records.free.total_memory
    assert not records.has_incomplete()


@both
@given(st.integers(0, 2**32))
def test_every_record_is_reported_once_and_none_expires_early(generation: str, seed: int) -> None:
    played = sequence(generation, seed)
    player = AccumulatorPlayer(generation, played["config"])
    reports: Counter[int] = Counter()
    memory = played["config"]["buffer_memory"]
    appends = [command["record"] for command in played["commands"] if command["do"] == "append"]
    now_ms = 0
    end: list[dict[str, Any]] = [{"do": "tick", "ms": 10_000}]
    for command in played["commands"] + end:
        now_ms += command.get("ms", 0)
        answer = player.play(command)
        assert 0 <= answer["memory"][1] <= answer["memory"][0] <= memory
        reports.update(event["record"] for event in answer["events"] if "record" in event)
        reports.update(event["append"] for event in answer["events"] if "refused" in event)
        if command["do"] == "expire":
            is_old = generation == "2.0"
            least = played["config"]["request_timeout_ms"] + 1 if is_old else played["config"]["delivery_timeout_ms"]
            assert all(now_ms - one["created"] >= least for one in answer["told"] if isinstance(one, dict))
    player.events = []
    for batch in list(player.accumulator._incomplete):
        batch.is_inflight = False
        batch.complete_exceptionally(lambda at: ProducerClosedError("the end"))
        player.accumulator.complete_batch(batch)
    reports.update(event["record"] for event in player.events)
    assert reports == Counter(appends)
    assert START_MS + now_ms == player.now_ms
