"""Producers beside a cluster with faults: the same seed is the same run, and each promise is kept and is looked at."""

from __future__ import annotations

import io
import re
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import doses

from fakebroker.producer.journal.events import (
    ProducerEvent,
    RecordAppended,
    RecordCalledBack,
    RecordRefused,
    RecordSent,
)
from fakebroker.producer.journal.journal import ProducerJournal
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.testing.producing.farm import Farm
from fakebroker.testing.producing.run_journal import RunJournal
from fakebroker.testing.producing.watch import ProducerWatch


def carried_out(seed: int, journal: RunJournal | None = None, ms: int = 400_000, looks_always: bool = False) -> Farm:
    farm = Farm(
        4, seed=seed, every_ms=8_000, partitions=3, fault_every_ms=20_000, looks_always=looks_always, journal=journal
    )
    farm.advance(ms)
    farm.end()
    return farm


def test_a_seed_always_gives_the_same_journal() -> None:
    first, again, other = (carried_out(seed).journal.digest() for seed in (0, 0, 1))
    assert first == again != other


def test_the_hash_is_that_of_the_file() -> None:
    file = io.BytesIO()
    farm = carried_out(3, RunJournal(file), 60_000)
    lines = file.getvalue()
    assert sha256(lines).hexdigest() == farm.journal.digest()
    assert lines.count(b"\n") == farm.journal.lines
    assert lines.count(b" 0 record ") == farm.records
    assert lines.count(b"\nRecordSent(") == farm.records


def test_what_producers_decide_is_in_the_journal_and_changes_nothing() -> None:
    files = io.BytesIO(), io.BytesIO()
    farms = [
        Farm(4, every_ms=8_000, fault_every_ms=20_000, journal=RunJournal(file), with_decisions=with_decisions)
        for file, with_decisions in zip(files, (True, False), strict=True)
    ]
    for farm in farms:
        farm.advance(200_000)
    of_farm = [file.getvalue().splitlines() for file in files]
    decided = [line for line in of_farm[0] if not line[:1].isdigit()]
    assert [line for line in of_farm[0] if line[:1].isdigit()] == of_farm[1]
    kinds = {line.partition(b"(")[0] for line in decided}
    assert {b"RecordAppended", b"BatchDrained", b"MetadataUpdated", b"Disconnected"} <= kinds
    assert farms[0].journal.digest() != farms[1].journal.digest()


@settings(max_examples=doses.count(3, 10))
@given(st.integers(0, 2**32))
def test_every_promise_is_kept_and_every_invariant_holds_always(seed: int) -> None:
    farm = carried_out(seed, ms=200_000, looks_always=True)
    assert farm.records == sum(farm.outcomes().values())
    assert farm.batches


@pytest.mark.nightly
def test_there_is_something_to_look_at() -> None:
    """Each fault, and each kind of end, occurs; else the tests above say little."""
    outcomes, faults = carried_out(0).outcomes(), carried_out(0).faults
    for seed in range(1, 6):
        farm = carried_out(seed)
        outcomes.update(farm.outcomes())
        faults.update(farm.faults)
    assert {"stop", "kill", "pause", "freeze", "move", "cut"} <= set(faults)
    assert {"NONE", "ProducerTimeoutError"} <= set(outcomes), outcomes


def test_what_is_refused_is_counted_each_time() -> None:
    file = io.BytesIO()
    farm = Farm(4, every_ms=4_000, partitions=3, fault_every_ms=None, journal=RunJournal(file))
    farm.advance(20_000)
    assert farm.refused == 0
    farm.simulation.followers("frozen")  # after 30 s they are out of the ISR, and one replica is not enough
    farm.advance(60_000)
    handled = [line for line in file.getvalue().splitlines() if line.startswith(b"ResponseHandled(")]
    errors = [
        error for line in handled for error in re.findall(rb"\('t', \d, '(\w+)', -?\d+\)", line) if error != b"NONE"
    ]
    assert farm.refused == len(errors)
    assert {b"NOT_ENOUGH_REPLICAS"} <= set(errors)


def test_nothing_of_what_is_over_is_kept() -> None:
    farm = Farm(8, every_ms=2_000, fault_every_ms=10_000)
    early_ms = doses.count(120_000, 200_000)
    farm.advance(early_ms)
    early = len(farm.simulation._clients)
    farm.advance(2 * early_ms)
    assert len(farm.simulation._clients) <= max(early, 8 * 3 + 8)
    assert len(farm.around._under_way) < 300
    for watch in farm.watches:
        assert watch.open < 100
    for producer in farm.producers:
        assert producer.producer.probe is not None
        own = producer.producer.probe._listeners[0][0].__self__  # type: ignore[attr-defined]
        assert isinstance(own, ProducerJournal)
        assert own.dropped > 1_000
        assert len(own) == 0
        assert len(producer.producer._sends._blocked) < 100
        assert len(producer.producer._connections._sent_ms) < 10


class TestWatch:
    """The watch finds planted bugs."""

    def setup_method(self) -> None:
        config = ProducerConfig("4.3", {"buffer.memory": 500, "batch.size": 200})
        self.watch = ProducerWatch(config)
        self.now_ms = 1_000

    def hear(self, kind: type[ProducerEvent], *values: object) -> None:
        self.watch.hear(kind(self.now_ms, self.now_ms, "p", *values), None)  # type: ignore[arg-type]

    def sent(self, size: int = 1) -> int:
        record = self.watch.sent + 1
        self.hear(RecordSent, record, "t", 0, None, size)
        return record

    def appended(self, size: int = 1) -> int:
        record = self.sent(size)
        self.hear(RecordAppended, record, "t", 0, record, 0, True)
        return record

    def acknowledge(self, record: int, offset: int) -> None:
        self.hear(RecordCalledBack, record, "t", 0, "NONE", "", offset)

    def test_a_record_that_is_called_back_twice(self) -> None:
        record = self.appended()
        self.acknowledge(record, 0)
        with pytest.raises(AssertionError, match="record 1 ends for the second time"):
            self.acknowledge(record, 0)

    def test_a_record_that_is_refused_and_called_back(self) -> None:
        record = self.sent()
        self.hear(RecordRefused, record, "ProducerClosedError", "", True)
        with pytest.raises(AssertionError, match="record 1 ends for the second time"):
            self.acknowledge(record, 0)

    def test_a_refusal_that_will_be_called_back_is_no_end(self) -> None:
        record = self.sent()
        self.hear(RecordRefused, record, "RecordTooLargeError", "", False)
        assert self.watch.open == 1
        self.hear(RecordCalledBack, record, "t", 0, "RecordTooLargeError", "", -1)
        assert (self.watch.open, self.watch.outcomes) == (0, {"RecordTooLargeError": 1})

    @pytest.mark.parametrize(("waited_ms", "is_early"), [(119_999, True), (120_000, False)])
    def test_a_batch_that_expires_early(self, waited_ms: int, is_early: bool) -> None:
        self.expire(self.appended(), waited_ms, is_early)

    @pytest.mark.parametrize(("waited_ms", "is_early"), [(59_999, True), (60_000, False)])
    def test_a_record_that_is_refused_early(self, waited_ms: int, is_early: bool) -> None:
        self.expire(self.sent(), waited_ms, is_early)

    def expire(self, record: int, waited_ms: int, is_early: bool) -> None:
        self.now_ms += waited_ms
        values = record, "t", 0, "ProducerTimeoutError", "", -1
        if not is_early:
            self.hear(RecordCalledBack, *values)
            assert self.watch.outcomes == {"ProducerTimeoutError": 1}
            return
        with pytest.raises(AssertionError, match="ends with ProducerTimeoutError after"):
            self.hear(RecordCalledBack, *values)

    def test_a_record_that_stands_before_an_earlier_one(self) -> None:
        first, second = self.appended(), self.appended()
        self.acknowledge(first, 7)
        with pytest.raises(AssertionError, match="is at offset 6, record 1 at 7"):
            self.acknowledge(second, 6)

    def test_an_earlier_record_that_stands_behind(self) -> None:
        first, second = self.appended(), self.appended()
        self.acknowledge(second, 6)
        with pytest.raises(AssertionError, match="is at offset 7, record 2 at 6"):
            self.acknowledge(first, 7)

    def test_more_than_the_memory_has(self) -> None:
        self.appended(300)
        with pytest.raises(AssertionError, match="501 bytes are in a smaller buffer"):
            self.appended(201)

    def test_memory_that_came_back(self) -> None:
        self.acknowledge(self.appended(300), 0)
        self.appended(400)
        assert self.watch.open == 1

    def test_a_record_that_does_not_end(self) -> None:
        self.appended()
        assert self.watch.open == 1
