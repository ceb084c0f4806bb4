"""The batches of a log, without the log (core/log/contents.py)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.batches import batch_of

from fakebroker.core.log.batch import LoggedBatch
from fakebroker.core.log.contents import LogContents
from fakebroker.core.log.memory import LogMemory, PartitionMemory
from fakebroker.core.log.segment import Segment
from fakebroker.protocol.record_batch import Record


def filled(contents: LogContents, sizes: list[int], gap: int = 0) -> list[LoggedBatch]:
    """Append batches of two records, with a gap of offsets after each."""
    batches = []
    for number, size in enumerate(sizes):
        start = number * (2 + gap)
        batch = LoggedBatch(start, start + 1, 0, batch_of([Record(None, bytes(size)), Record(None, b"")]))
        contents.append(batch)
        batches.append(batch)
    return batches


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), st.integers(0, 2), st.data())
def test_batches_are_found_in_memory_and_out_of_it(sizes: list[int], gap: int, data: st.DataObject) -> None:
    total = LogMemory()
    contents = LogContents(PartitionMemory(total))
    batches = filled(contents, sizes, gap)
    run = batches[: data.draw(st.integers(0, len(batches) - 1))]
    if run:
        contents.move_out(Segment(total.store, run), run)
    assert contents.has_cold == bool(run)
    assert contents.bytes_in_memory == sum(batch.size for batch in batches[len(run) :])
    assert contents.size_in_bytes == sum(batch.size for batch in batches)
    for number, batch in enumerate(batches):
        for offset in (batch.base_offset, batch.last_offset):
            assert contents.batch_at(offset).base_offset == batch.base_offset
            assert contents.is_cold(offset) == (number < len(run))
        for position in (batch.position, batch.position + batch.size - 1):
            assert contents.batch_at_position(position).base_offset == batch.base_offset
        offsets_from = [later.base_offset for later in contents.batches_from(batch.last_offset)]
        assert offsets_from == [later.base_offset for later in batches[number:]]
        assert contents.pieces(batch.position, contents.end_position).size == contents.end_position - batch.position
    contents.check_invariants(batches[-1].last_offset + 1, gap > 0)


def test_nothing_is_counted_once_all_is_dropped() -> None:
    total = LogMemory()
    contents = LogContents(PartitionMemory(total))
    batches = filled(contents, [1, 2, 3])
    contents.move_out(Segment(total.store, batches[:1]), batches[:1])
    assert contents.drop_from(3) == 2
    assert (contents.is_empty, contents.end_position) == (False, batches[1].position)
    contents.drop_all()
    assert (contents.is_empty, contents.size_in_bytes, total.hot_bytes, total.cold_bytes) == (True, 0, 0, 0)
