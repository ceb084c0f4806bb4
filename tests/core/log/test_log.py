"""The in-memory log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.replication.reads import readable_bytes

EPOCH = 5


def filled(sizes: list[int]) -> Log:
    """Return a log with batches of so many records of 61 bytes and a varying size."""
    log = Log()
    for size in sizes:
        start = log.log_end_offset
        log.append(LoggedBatch(start, start + size - 1, EPOCH, bytes([size]) * (61 + size)))
    return log


@given(st.lists(st.integers(1, 9), max_size=12), st.data())
def test_reading_gives_what_is_between_two_offsets_up_to_a_limit(sizes: list[int], data: st.DataObject) -> None:
    log = filled(sizes)
    log.check_invariants()
    offset = data.draw(st.integers(0, log.log_end_offset))
    upper = data.draw(st.integers(0, log.log_end_offset))
    max_bytes = data.draw(st.integers(0, 300))
    expected, start = [], 0
    for size in sizes:
        if start + size > offset and start + size <= upper:
            head = start.to_bytes(8, "big") + (49 + size).to_bytes(4, "big") + EPOCH.to_bytes(4, "big")
            expected.append(head + bytes([size]) * (45 + size))
        start += size
    first = len(expected[0]) if expected else 0
    assert log.read(offset, upper, max_bytes).join() == b"".join(expected)[: max(first, max_bytes)]


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(61, 99)), max_size=12), st.data())
def test_the_bytes_between_two_offsets_are_those_of_a_read(batches: list[tuple[int, int]], data: st.DataObject) -> None:
    """The rule also holds after the log was truncated at either end, and has grown again."""
    log = Log()

    def grow() -> None:
        for records, size in batches:
            start = log.log_end_offset
            log.append(LoggedBatch(start, start + records - 1, EPOCH, bytes(size)))
        log.check_invariants()

    grow()
    log.maybe_increment_log_start_offset(data.draw(st.integers(0, log.log_end_offset)))
    log.check_invariants()
    if data.draw(st.booleans()):
        log.truncate_to(data.draw(st.integers(0, log.log_end_offset)))
        log.check_invariants()
    if data.draw(st.booleans()):
        grow()
    offset = data.draw(st.integers(0, log.log_end_offset + 1))
    upper = data.draw(st.integers(0, log.log_end_offset + 1))
    plain = sum(
        batch.size_in_bytes for batch in log.batches if batch.last_offset >= offset and batch.last_offset < upper
    )
    assert log.size_between(offset, upper) == plain == len(log.read(offset, upper, 10**6))
    limit = data.draw(st.integers(0, 300))
    assert readable_bytes(log, offset, upper, limit) == min(plain, limit)


def test_a_gap_is_refused() -> None:
    with pytest.raises(ValueError, match="does not continue"):
        filled([2]).append(LoggedBatch(3, 3, EPOCH, b""))


def test_the_watermark_stays_within_the_log() -> None:
    log = filled([2, 3])
    log.update_high_watermark(99)
    assert log.high_watermark == 5
    log.update_high_watermark(-1)
    assert log.high_watermark == 0


@given(st.lists(st.integers(1, 9), max_size=12), st.data())
def test_truncation_leaves_the_whole_batches_below_the_offset(sizes: list[int], data: st.DataObject) -> None:
    log = filled(sizes)
    end = log.log_end_offset
    log.update_high_watermark(data.draw(st.integers(0, end)))
    watermark = log.high_watermark
    offset = data.draw(st.integers(0, end + 2))
    kept = [batch for batch in log.batches if batch.last_offset < offset]
    assert log.truncate_to(offset) == (offset < end)
    log.check_invariants()
    assert log.batches == kept
    assert log.log_end_offset == (kept[-1].last_offset + 1 if kept else 0)
    assert log.high_watermark == min(watermark, log.log_end_offset)
    log.append(LoggedBatch(log.log_end_offset, log.log_end_offset, EPOCH, b"new"))
    log.check_invariants()


def test_truncation_below_the_start_begins_anew() -> None:
    log = Log()
    log.log_start_offset = log.log_end_offset = log.high_watermark = 7
    log.append(LoggedBatch(7, 9, EPOCH, b"x"))
    assert log.truncate_to(3)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset, log.batches) == (3, 3, 3, [])
    log.check_invariants()
