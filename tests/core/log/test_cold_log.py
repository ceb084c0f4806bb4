"""Logs with a part out of memory, compared with logs in memory: reads give the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.batches import TIME_MS, batch_of

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.log.eviction import move_out
from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.log.memory import LogMemory, PartitionMemory
from fakebroker.core.log.producer_entry import ProducerFields
from fakebroker.core.log.retention import start_by_size, start_by_time
from fakebroker.core.log.store import MemoryStore
from fakebroker.core.replication.replica import Replica
from fakebroker.protocol.answers.pieces import FrameInPieces
from fakebroker.protocol.record_batch import Record

KEEPS_ALL, LEADER, FOLLOWER = 1, 2, 3
BODIES = st.one_of(st.integers(0, 60), st.integers(0, 60), st.integers(3_000, 9_000), st.just(70_000))


def logged(offset: int, epoch: int, count: int, body: int, age_ms: int, producer: int) -> LoggedBatch:
    """Return a batch of so many records; a negative producer means none, and a negative age no timestamp."""
    at_ms = TIME_MS - age_ms if age_ms >= 0 else -1
    of_producer: dict[str, Any] = (
        {"producer_id": producer, "producer_epoch": 0, "base_sequence": offset} if producer >= 0 else {}
    )
    records = [Record(None, bytes(body)), *([Record(None, b"")] * (count - 1))]
    data = batch_of(records, base_timestamp_ms=at_ms, **of_producer)
    said = ProducerFields(producer, 0, offset, at_ms) if producer >= 0 else None
    return LoggedBatch(offset, offset + count - 1, epoch, data, TIME_MS if at_ms == -1 else at_ms, said)


class Logs(RuleBasedStateMachine):
    """A leader and a follower that spill, and a leader that never does."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.total = LogMemory(store=self.store)
        memory = PartitionMemory(self.total)
        registry = BrokerRegistry([KEEPS_ALL, LEADER, FOLLOWER])
        self.model = Replica(registry[KEEPS_ALL])
        self.leader, self.follower = Replica(registry[LEADER], memory), Replica(registry[FOLLOWER], memory)
        self.epoch = 0
        for replica in (self.model, self.leader):
            replica.leader_epochs.assign(0, 0)

    @property
    def logs(self) -> tuple[Log, Log]:
        return self.leader.log, self.follower.log

    @rule(
        batches=st.lists(
            st.tuples(st.integers(1, 4), BODIES, st.integers(-1, 100), st.integers(-3, 2)), min_size=1, max_size=30
        ),
        moved=st.booleans(),
    )
    def append(self, batches: list[tuple[int, int, int, int]], moved: bool) -> None:
        for count, body, age_ms, producer in batches:
            for log in (self.model.log, self.leader.log):
                log.append(logged(log.log_end_offset, self.epoch, count, body, age_ms, producer))
        if moved:
            self.move_out(1 << 20)

    @rule(max_bytes=st.sampled_from([1, 1_000, 9_000, 1 << 20]))
    def move_out(self, max_bytes: int) -> None:
        move_out(self.logs, max_bytes, self.store)

    @rule(data=st.data())
    def follow(self, data: st.DataObject) -> None:
        self.follower.truncate_to_leader(self.leader)
        leader, log = self.model.log, self.follower.log
        up_to = data.draw(st.integers(0, leader.log_end_offset)) if data.draw(st.booleans()) else leader.log_end_offset
        ends = [batch.last_offset + 1 for batch in leader.batches if batch.last_offset < up_to]
        end_offset = max(log.log_end_offset, leader.log_start_offset, *ends)
        self.follower.copy_from(self.leader, up_to)
        assert log.log_end_offset == end_offset

    @rule()
    def next_epoch(self) -> None:
        self.epoch += 1
        for replica in (self.model, self.leader):
            replica.leader_epochs.assign(self.epoch, replica.log.log_end_offset)

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        """Truncate any number of batches, since the follower may have had fewer. The next leader has another epoch."""
        log = self.leader.log
        offset = data.draw(st.integers(log.log_start_offset, log.log_end_offset))
        for replica in (self.model, self.leader, self.follower):
            replica.truncate_to(offset)
        self.next_epoch()

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """Delete whole batches only."""
        starts = [batch.base_offset for batch in self.model.log.batches]
        if starts:
            offset = data.draw(st.sampled_from(starts))
            for replica in (self.model, self.leader, self.follower):
                replica.log.update_high_watermark(replica.log.log_end_offset)
                replica.maybe_increment_log_start_offset(offset)

    @rule(data=st.data(), max_bytes=st.sampled_from([0, 100, 5_000, 1 << 20]), bite=st.sampled_from([1_000, 1 << 20]))
    def read(self, data: st.DataObject, max_bytes: int, bite: int) -> None:
        model, log = self.model.log, self.leader.log
        offset = data.draw(st.integers(model.log_start_offset, model.log_end_offset))
        upper = data.draw(st.integers(model.log_start_offset, model.log_end_offset))
        expected = model.read(offset, upper, max_bytes).join()
        assert log.size_between(offset, upper) == model.size_between(offset, upper)
        pieces = log.read(offset, upper, max_bytes)
        assert pieces.size == len(expected)
        frame = FrameInPieces([b"head", *pieces.pieces])
        self.move_out(9_000)  # what was read goes out of memory before it is taken
        taken = []
        while frame.left:
            taken.append(b"".join(frame.take(bite)))
            assert len(taken[-1]) == bite or not frame.left
        assert b"".join(taken) == b"head" + expected

    @rule(retention=st.integers(0, 20_000), age_ms=st.integers(0, 100), data=st.data())
    def retention(self, retention: int, age_ms: int, data: st.DataObject) -> None:
        watermark = data.draw(st.integers(self.model.log.log_start_offset, self.model.log.log_end_offset))
        logs = (self.model.log, self.leader.log)
        for log in logs:
            log.update_high_watermark(watermark)
        assert len({start_by_size(log, retention) for log in logs}) == 1
        if all(batch.timestamp_ms != TIME_MS for batch in self.model.log.batches):
            assert len({start_by_time(log, age_ms, TIME_MS) for log in logs}) == 1

    @rule()
    def producers(self) -> None:
        states = [log.producer_state for log in (self.model.log, self.leader.log)]
        ids = {frozenset(state.producer_ids) for state in states}
        assert len(ids) == 1
        for producer_id in ids.pop():
            last = [state.last_entry(producer_id) for state in states]
            assert last[0] is not None
            assert last[1] is not None
            assert last[0].last_sequence == last[1].last_sequence

    @precondition(lambda self: self.model.log.batches)
    @rule(age_ms=st.integers(0, 100))
    def times(self, age_ms: int) -> None:
        """No batch that is young enough is skipped."""
        young = {b.base_offset for b in self.model.log.batches if b.timestamp_ms >= TIME_MS - age_ms}
        assert young <= {b.base_offset for b in self.leader.log.contents.batches_since(TIME_MS - age_ms)}

    @invariant()
    def the_same(self) -> None:
        self.total.check_invariants()
        for replica in (self.model, self.leader, self.follower):
            replica.log.check_invariants()
        model, leader, follower = self.model.log, self.leader.log, self.follower.log
        assert (model.log_start_offset, model.log_end_offset) == (leader.log_start_offset, leader.log_end_offset)
        assert model.size_in_bytes == leader.size_in_bytes
        data = [batch.data for batch in model.batches]
        assert [batch.data for batch in leader.batches] == data
        had = [batch.data for batch in follower.batches]
        begin = len([b for b in model.batches if b.last_offset < follower.log_start_offset])
        assert had == data[begin : begin + len(had)]
        for replica in (self.leader, self.follower):
            entries = replica.leader_epochs.entries
            for batch in replica.log.batches:
                assert replica.leader_epochs.epoch_for_offset(batch.base_offset) == batch.leader_epoch, entries
        in_memory = {id(b): b for log in self.logs for b in log.contents.oldest_in_memory(1 << 40)}
        assert self.total.hot_bytes >= sum(batch.cost for batch in in_memory.values())
        if not leader.size_in_bytes and not follower.size_in_bytes:
            assert (self.total.hot_bytes, self.total.cold_bytes) == (0, 0)

    def teardown(self) -> None:
        for replica in (self.leader, self.follower):
            replica.log.truncate_fully_and_start_at(0)
        assert (self.total.used_bytes, self.store.size) == (0, 0)


TestLogs = Logs.TestCase
TestLogs.settings = settings(stateful_step_count=30)


@given(st.lists(st.integers(60, 9_000), min_size=1, max_size=40), st.data())
def test_a_segment_finds_every_batch(sizes: list[int], data: st.DataObject) -> None:
    log = Log()
    for size in sizes:
        log.append(logged(log.log_end_offset, 0, 2, size, 0, -1))
    before = [(b.base_offset, b.last_offset, b.position, b.size, b.timestamp_ms, b.data) for b in log.batches]
    move_out([log], 1 << 30, MemoryStore())
    assert log.contents.bytes_in_memory == 0
    assert [(b.base_offset, b.last_offset, b.position, b.size, b.timestamp_ms, b.data) for b in log.batches] == before
    offset = data.draw(st.integers(0, log.log_end_offset - 1))
    assert log.batch_at(offset).base_offset == offset // 2 * 2
    position = data.draw(st.integers(0, log.contents.end_position - 1))
    batch = log.contents.batch_at_position(position)
    assert batch.position <= position < batch.position + batch.size


def test_no_more_batches_go_out_of_memory_than_free_the_memory_asked_for() -> None:
    log = Log()
    for _ in range(3):
        log.append(logged(log.log_end_offset, 0, 1, 500, 0, -1))
    first, second, _ = log.batches
    both = first.cost + second.cost
    assert log.contents.oldest_in_memory(both) == [first, second]
    assert log.contents.oldest_in_memory(both - 1) == [first, second]
    assert log.contents.oldest_in_memory(first.cost) == [first]


def test_an_answer_keeps_its_place_in_the_store() -> None:
    """The log is truncated before the response is read; its bytes stay until the response is gone."""
    store = MemoryStore()
    log = Log()
    for _ in range(3):
        log.append(logged(log.log_end_offset, 0, 1, 5_000, 0, -1))
    move_out([log], 1 << 30, store)
    expected = b"".join(batch.data for batch in log.batches)
    pieces = log.read(0, 3, 1 << 20)
    log.truncate_to(0)
    assert store.size > 0
    assert pieces.join() == expected
    del pieces
    assert store.size == 0


def test_an_answer_keeps_no_records_of_what_went_out_of_memory() -> None:
    store = MemoryStore()
    log = Log()
    for _ in range(100):
        log.append(logged(log.log_end_offset, 0, 1, 500, 0, -1))
    expected = b"".join(batch.data for batch in log.batches)
    batches = log.batches
    pieces = log.read(0, 100, 1 << 20)
    move_out([log], 20_000, store)
    assert [len(batch._records) > 0 for batch in batches] == [False] * 24 + [True] * 76
    assert pieces.join() == expected


@pytest.mark.parametrize("size", [0, 70, 40_000])
def test_the_beginning_of_a_batch(size: int) -> None:
    log = Log()
    log.append(logged(0, 0, 1, size, 0, -1))
    (batch,) = log.batches
    data = batch.data
    assert batch.beginning(61)[16:] == data[16:61]
    move_out([log], 1, MemoryStore())
    assert batch.beginning(61) == data[:61]
    assert batch.records == batch.data == data
