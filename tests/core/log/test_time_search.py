"""The search for a time gives the same as a look at every batch, after appends, deletions and truncations, in few
steps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.batches import batch_of

from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.log.time_index import BLOCK, TimeIndex
from fakebroker.core.log.time_search import batch_of_max_timestamp, first_batch_reaching, max_timestamp_ms
from fakebroker.protocol.record_batch import Record
from fakebroker.protocol.slices import finish

APPEND_MS = 500


def logged(offset: int, timestamp_ms: int, count: int = 1) -> LoggedBatch:
    records = batch_of([Record(b"k", b"")] * count, base_timestamp_ms=timestamp_ms)
    kept = APPEND_MS if timestamp_ms == -1 else timestamp_ms
    return LoggedBatch(offset, offset + count - 1, 0, records, kept)


def slow_first(log: Log, timestamp_ms: int, offset: int) -> LoggedBatch | None:
    for batch in log.batches_from(offset):
        if max_timestamp_ms(batch) >= timestamp_ms:
            return batch
    return None


def slow_max(log: Log) -> LoggedBatch | None:
    return max(log.batches, key=max_timestamp_ms, default=None)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(-1, 40), st.integers(1, 3)),
        st.tuples(st.just("many"), st.integers(-1, 40), st.integers(1, 2 * BLOCK)),
        st.tuples(st.just("delete"), st.integers(0, 3 * BLOCK), st.just(0)),
        st.tuples(st.just("truncate"), st.integers(0, 3 * BLOCK), st.just(0)),
        st.tuples(st.just("fully"), st.integers(0, 3 * BLOCK), st.just(0)),
        st.tuples(st.just("ask"), st.integers(0, 42), st.integers(0, 40)),
    ),
    max_size=14,
)


@given(steps)
def test_what_is_found_is_what_is_there(history: list[tuple[str, int, int]]) -> None:
    log = Log()
    for what, number, count in [*history, ("ask", 5, 0)]:
        match what:
            case "append":
                log.append(logged(log.log_end_offset, number, count))
            case "many":
                for index in range(count):
                    log.append(logged(log.log_end_offset, (number + index) % 30 - 1))
            case "delete":
                log.maybe_increment_log_start_offset(min(number, log.log_end_offset))
            case "truncate":
                log.truncate_to(number)
            case "fully":
                log.truncate_fully_and_start_at(number)
            case _:
                from_offset = min(log.log_start_offset + count, log.log_end_offset)
                batch = finish(first_batch_reaching(log, number, from_offset))
                assert batch is slow_first(log, number, from_offset)
                assert finish(batch_of_max_timestamp(log)) is slow_max(log)


def test_it_is_made_in_slices_and_kept() -> None:
    log = Log()
    for offset in range(5_000):
        log.append(logged(offset, offset))
    slices = first_batch_reaching(log, 4_999, 0)
    for _ in range(4):
        next(slices)
    batch = finish(slices)
    assert batch is not None
    assert batch.base_offset == 4_999
    index = log.time_index
    assert isinstance(index, TimeIndex)
    assert len(index.maxima) == 20
    log.append(logged(5_000, 6_000))
    assert finish(first_batch_reaching(log, 5_000, 0)) is log.batches[-1]
    assert log.time_index is index


def test_the_log_is_truncated_while_it_is_made() -> None:
    log = Log()
    for offset in range(3_000):
        log.append(logged(offset, 9))
    slices = first_batch_reaching(log, 9, 0)
    next(slices)
    log.truncate_to(10)
    log.append(logged(10, 11))
    assert finish(first_batch_reaching(log, 10, 0)) is log.batches[-1]
    assert finish(slices) is log.batches[0]


def test_old_blocks_are_forgotten() -> None:
    log = Log()
    for offset in range(3 * BLOCK):
        log.append(logged(offset, 100 - offset % 100))
    assert finish(batch_of_max_timestamp(log)) is log.batches[0]
    log.maybe_increment_log_start_offset(2 * BLOCK + 1)
    batch = finish(batch_of_max_timestamp(log))
    assert batch is slow_max(log)
    assert log.time_index is not None
    assert len(log.time_index.maxima) == 1
