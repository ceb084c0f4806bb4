"""Search a log by time: the first batch that reaches a time, and the one with the largest timestamp of all.

Theory   A query goes through the blocks of the index, then through the batches of one: some 1,400 steps for 300,000
         batches. Old batches are deleted, so the maximum of the first block may be outdated, and that block is searched
         again.
Units    timestamps are milliseconds since the epoch, -1 for none; offsets count records.
Source   storage/.../log/LogSegment.java findOffsetByTimestamp, readMaxTimestampAndOffsetSoFar @ 4.0.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from librt.strings import read_i64_be

from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.log.time_index import BLOCK, TimeIndex
from fakebroker.protocol.batch_layout import MAX_TIMESTAMP_AT, RECORD_BATCH_OVERHEAD
from fakebroker.protocol.slices import Slices

_BATCHES_OF_A_SLICE: Final = 1_024


def max_timestamp_ms(batch: LoggedBatch) -> int:
    """Return the largest timestamp in the header, which the leader has verified."""
    timestamp_ms: int = read_i64_be(batch.beginning(RECORD_BATCH_OVERHEAD), MAX_TIMESTAMP_AT)
    return timestamp_ms


def first_batch_reaching(log: Log, timestamp_ms: int, offset: int) -> Slices[LoggedBatch | None]:
    """Return the first batch, from the one that holds `offset` on, with its largest timestamp at or after a time. The
    time is not negative."""
    index = yield from _caught_up(log)
    for block in range(index.block_of(offset), len(index.maxima)):
        if index.maxima[block] >= timestamp_ms:
            for batch in islice(log.batches_from(max(index.offsets[block], offset)), BLOCK):
                # The timestamp for retention is the largest timestamp or, if there is none, another one.
                if batch.timestamp_ms >= timestamp_ms and max_timestamp_ms(batch) >= timestamp_ms:
                    return batch
    return None


def batch_of_max_timestamp(log: Log) -> Slices[LoggedBatch | None]:
    """Return the first of the batches with the largest timestamp of the log."""
    index = yield from _caught_up(log)
    if not index.maxima or log.log_start_offset >= log.log_end_offset:
        return None
    behind = index.offsets[1] if len(index.offsets) > 1 else log.log_end_offset
    best: LoggedBatch | None = None
    maximum_ms = -2
    for batch in islice(log.batches_from(log.log_start_offset), BLOCK):
        if batch.base_offset < behind and max_timestamp_ms(batch) > maximum_ms:
            maximum_ms = max_timestamp_ms(batch)
            best = batch
    for block in range(1, len(index.maxima)):
        if index.maxima[block] > maximum_ms:
            maximum_ms = index.maxima[block]
            best = None
            behind = index.offsets[block]
    if best is None:
        for batch in islice(log.batches_from(behind), BLOCK):
            if max_timestamp_ms(batch) == maximum_ms:
                return batch
    return best


def _caught_up(log: Log) -> Slices[TimeIndex]:
    """Return the index of the whole log. No slice ends between this and its use."""
    while True:
        index = log.time_index
        if index is None:
            index = log.time_index = TimeIndex()
        for batch in islice(log.batches_from(index.end_offset), _BATCHES_OF_A_SLICE):
            index.add(batch.base_offset, batch.last_offset, max_timestamp_ms(batch))
        if index.end_offset >= log.log_end_offset or log.log_start_offset == log.log_end_offset:
            index.forget_before(log.log_start_offset)
            return index
        yield
