"""The transaction state of a log, compared with a full read of the log that keeps no state."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakebroker.core.broker_registry import RegisteredBroker
from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.log.producer_entry import ProducerFields
from fakebroker.core.log.transactions.state import AbortedTransaction
from fakebroker.core.replication.replica import Replica
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.protocol.transaction_records.control_records import (
    ABORT,
    COMMIT,
    EndTransactionMarker,
    decode_marker,
    encode_marker,
)

TRANSACTIONAL = 0x10


def data(offset: int, producer_id: int, count: int = 1, is_transactional: bool = True) -> LoggedBatch:
    records = encode_batch(
        [Record(None, b"v")] * count,
        base_timestamp_ms=1,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=offset,
        attributes=TRANSACTIONAL if is_transactional else 0,
    )
    producer = ProducerFields(producer_id, 0, offset, 1, is_transactional)
    return LoggedBatch(offset, offset + count - 1, 0, records, 1, producer)


def marker(offset: int, producer_id: int, control_type: int) -> LoggedBatch:
    marker = EndTransactionMarker(control_type, 0)
    records = encode_marker(marker, producer_id, 0, 1)
    return LoggedBatch(offset, offset, 0, records, 1, ProducerFields(producer_id, 0, -1, 1, True, marker))


def log_of(*what: tuple[int, int | None]) -> Log:
    """Return a log: (producer, None) is a record in a transaction, (producer, COMMIT or ABORT) a transaction marker."""
    log = Log()
    for producer_id, end in what:
        offset = log.log_end_offset
        log.append(data(offset, producer_id) if end is None else marker(offset, producer_id, end))
    log.update_high_watermark(log.log_end_offset)
    return log


def test_a_marker_is_what_kafka_writes() -> None:
    """The bytes of MemoryRecords.withEndTransactionMarker(13, 4, COMMIT with coordinator epoch 7)."""
    batch = encode_marker(EndTransactionMarker(COMMIT, 7), 13, 4, 1_000)
    assert len(batch) == 78
    assert batch[61:].hex() == "20" + "000000" + "08" + "00000001" + "0c" + "000000000007" + "00"
    assert decode_marker(batch) == EndTransactionMarker(COMMIT, 7)


class TestLastStableOffset:
    def test_an_open_transaction_holds_it(self) -> None:
        log = log_of((1, None), (2, None), (2, COMMIT))
        assert log.last_stable_offset == 0
        log.append(marker(3, 1, COMMIT))
        assert log.last_stable_offset == 0  # the marker is not replicated
        log.update_high_watermark(4)
        assert log.last_stable_offset == 4

    def test_records_of_no_transaction_do_not_count(self) -> None:
        log = Log()
        log.append(data(0, 1, is_transactional=False))
        log.update_high_watermark(1)
        assert not log.has_transactions
        assert log.last_stable_offset == 1

    def test_what_is_deleted_is_stable(self) -> None:
        log = log_of((1, None), (2, None), (3, None))
        log.maybe_increment_log_start_offset(2)
        assert log.last_stable_offset == 2

    def test_where_a_batch_is_deleted_in_part_it_is_where_the_batch_begins(self) -> None:
        """Kafka 4.4 answers 0 to ListOffsets (latest, read_committed); a walk of transactions found it."""
        log = Log()
        log.append(data(0, 1, 3))
        log.append(data(3, 2, is_transactional=False))
        log.update_high_watermark(4)
        log.maybe_increment_log_start_offset(1)
        assert log.last_stable_offset == 0
        assert not log.read(1, log.last_stable_offset, 1_000)
        log.maybe_increment_log_start_offset(3)
        assert log.last_stable_offset == 3
        log.maybe_increment_log_start_offset(4)
        assert log.last_stable_offset == 4

    def test_a_marker_without_a_transaction_changes_nothing(self) -> None:
        log = log_of((1, ABORT), (2, None))
        assert log.last_stable_offset == 1
        assert log.producer_state.transactions.aborted == []


class TestAbortedTransactions:
    def test_each_with_the_next_open_one(self) -> None:
        log = log_of((1, None), (2, None), (1, ABORT), (2, ABORT), (1, None), (1, COMMIT))
        assert log.producer_state.transactions.aborted == [
            AbortedTransaction(1, 0, 2, 1),
            AbortedTransaction(2, 1, 3, 4),
        ]

    @pytest.mark.parametrize(
        ("offset", "found"), [(0, ((1, 0), (2, 1))), (2, ((1, 0), (2, 1))), (3, ((2, 1),)), (4, ())]
    )
    def test_a_reader_is_told_those_that_end_ahead_of_it(self, offset: int, found: tuple[tuple[int, int], ...]) -> None:
        log = log_of((1, None), (2, None), (1, ABORT), (2, ABORT), (1, None))
        assert log.aborted_transactions(offset, 1) == found

    def test_an_empty_range_has_no_aborted_transactions(self) -> None:
        assert log_of((1, None), (1, ABORT)).aborted_transactions(0, 0) == ()

    def test_those_far_ahead_are_left_out(self) -> None:
        """Kafka's index of offsets has an entry each 4 KiB."""
        log = log_of((1, None), (1, ABORT))
        for _ in range(100):
            log.append(data(log.log_end_offset, 2, 10, is_transactional=False))
        log.append(data(log.log_end_offset, 3))
        log.append(marker(log.log_end_offset, 3, ABORT))
        assert log.aborted_transactions(0, 1) == ((1, 0),)
        assert log.aborted_transactions(0, log.size_in_bytes) == ((1, 0), (3, 1002))

    def test_truncation_keeps_those_that_ended_before(self) -> None:
        log = log_of((1, None), (1, ABORT), (2, None), (2, ABORT))
        log.truncate_to(3)
        assert log.producer_state.transactions.aborted == [AbortedTransaction(1, 0, 1, 2)]
        assert log.last_stable_offset == 2
        log.check_invariants()

    def test_those_that_begin_in_what_was_deleted_are_kept(self) -> None:
        log = log_of((1, None), (2, None), (1, ABORT), (2, ABORT), (3, None))
        log.maybe_increment_log_start_offset(3)
        log.truncate_to(4)
        assert log.aborted_transactions(3, 1) == ((2, 1),)


class Step(NamedTuple):
    kind: str  # data, commit, abort, watermark, truncate, start, ask
    producer_id: int
    number: int


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["data", "data", "commit", "abort", "watermark", "truncate", "start", "ask"]),
        st.integers(1, 3),
        st.integers(0, 30),
    ),
    max_size=40,
)


@settings(deadline=None)
@given(STEPS)
def test_as_read_from_the_whole_log(steps: list[Step]) -> None:
    log = Log()
    written: list[tuple[int, int | None]] = []  # (producer, how it ends), by offset
    for kind, producer_id, number in steps:
        offset = log.log_end_offset
        if kind == "data":
            log.append(data(offset, producer_id))
            written.append((producer_id, None))
        elif kind in ("commit", "abort"):
            end = COMMIT if kind == "commit" else ABORT
            log.append(marker(offset, producer_id, end))
            written.append((producer_id, end))
        elif kind == "watermark":
            log.update_high_watermark(max(log.high_watermark, number))
        elif kind == "truncate" and number >= log.high_watermark:
            log.truncate_to(number)
            del written[log.log_end_offset :]
        elif kind == "start":
            log.maybe_increment_log_start_offset(min(number, log.high_watermark))
        elif kind == "ask":
            assert log.last_stable_offset == stable(written, log.high_watermark, log.log_start_offset)
    log.check_invariants()
    # What began in what is deleted is forgotten by a truncation, as in Kafka, which drops its snapshots.
    if not any(step.kind == "truncate" for step in steps):
        assert log.last_stable_offset == stable(written, log.high_watermark, log.log_start_offset)
        if log.log_end_offset > log.log_start_offset:
            expected = tuple((pid, first) for pid, first, last in aborted(written) if last >= log.log_start_offset)
            assert log.aborted_transactions(log.log_start_offset, 1) == expected
    follower = Replica(RegisteredBroker(2))
    leader = Replica(RegisteredBroker(1))
    leader.log = log
    follower.copy_from(leader, log.log_end_offset)
    follower.log.update_high_watermark(log.high_watermark)
    if log.log_start_offset == 0:
        assert follower.log.last_stable_offset == log.last_stable_offset
        assert follower.log.aborted_transactions(0, 1) == (log.aborted_transactions(0, 1) if written else ())


def stable(written: list[tuple[int, int | None]], high_watermark: int, log_start: int) -> int:
    """Return the first offset of the transactions with no marker below the high watermark."""
    unstable = high_watermark
    for offset, (producer_id, end) in enumerate(written[:high_watermark]):
        rest = written[offset:high_watermark]
        if end is None and (producer_id, COMMIT) not in rest and (producer_id, ABORT) not in rest:
            unstable = min(unstable, offset)
    return max(unstable, log_start)


def aborted(written: list[tuple[int, int | None]]) -> list[tuple[int, int, int]]:
    """Return producer, first offset and marker of each aborted transaction, in the order of the markers."""
    ranges = []
    for offset, (producer_id, end) in enumerate(written):
        if end == ABORT:
            first = offset
            while first > 0 and not (written[first - 1][0] == producer_id and written[first - 1][1] is not None):
                first -= 1
            mine = [at for at in range(first, offset) if written[at][0] == producer_id]
            if mine:
                ranges.append((producer_id, mine[0], offset))
    return ranges
