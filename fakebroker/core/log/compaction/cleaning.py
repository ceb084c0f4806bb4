"""The part of a log that is to be compacted, and its batches afterwards.

Theory   A log is clean up to its first dirty offset. From there it may be cleaned up to the first of these: the active
         segment, the high watermark, the first segment with a record younger than min.compaction.lag.ms. It is worth
         cleaning if the dirty share exceeds min.cleanable.dirty.ratio, or if a dirty record is older than
         max.compaction.lag.ms. The dirty part gives the last offset of each key; all earlier records of the key go, in
         the clean part as well. Aborted records go in any case (transactions.py).
Units    offsets count records; timestamps are milliseconds since the epoch.
Source   storage/internals/log/{LogCleanerManager.java cleanableOffsets, calculateCleanableBytes, maxCompactionDelay,
         grabFilthiestCompactedLog; LogToClean.java; Cleaner.java doClean, cleanInto} @ 4.0.
Differs  No bound of the map of keys. The log is one piece: nothing is grouped into segments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.log.batch import LoggedBatch
from fakebroker.core.log.compaction.offset_map import OffsetMap
from fakebroker.core.log.compaction.record_filter import Rules, filtered, keys_of
from fakebroker.core.log.compaction.rolls import Roll, Rolls
from fakebroker.core.log.compaction.transactions import CleanedTransactions
from fakebroker.core.log.log import Log
from fakebroker.core.log.transactions.state import AbortedTransaction
from fakebroker.protocol.record_batch import read_batch_header
from fakebroker.protocol.slices import Slices, begin

# Bytes of records, and the further cost of a batch: some 200 us together.
_WORK_OF_A_SLICE: Final = 8_192
_BATCH_WORK: Final = 512


class LogToClean(NamedTuple):
    """A cleaning to do: everything before `end_offset`. The part before `first_dirty_offset` is clean already."""

    first_dirty_offset: int
    end_offset: int
    clean_bytes: int
    cleanable_bytes: int
    needs_compaction_now: bool

    @property
    def cleanable_ratio(self) -> float:
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0


def log_to_clean(log: Log, config: TopicConfig, now_wall_ms: int, roll_first: bool = False) -> LogToClean:
    """Return the part that may be cleaned. With `roll_first`, treat the active segment as just closed."""
    first_dirty = log.first_dirty_offset
    if not log.log_start_offset <= first_dirty <= log.log_end_offset:
        first_dirty = log.log_start_offset
    segments = _segments(log, first_dirty, config)
    if not roll_first:
        active, segments = segments[-1:], segments[:-1]
        end = active[0].base_offset if active else log.log_end_offset
    else:
        end = log.log_end_offset
    limit = min(end, log.last_stable_offset)
    if config.min_compaction_lag_ms > 0:
        youngest_ms = now_wall_ms - config.min_compaction_lag_ms
        limit = min([limit, *(s.base_offset for s in segments if s.largest_timestamp_ms > youngest_ms)])
    if limit < end:
        # Segments go as a whole: the one that holds the limit stays.
        end = max((s.base_offset for s in segments if s.base_offset <= limit), default=first_dirty)
        end = limit if roll_first and _begins_at(log, limit) else end
    end = max(end, first_dirty)
    firsts = [s.first_timestamp_ms for s in segments if s.first_timestamp_ms > 0]
    clean_bytes = log.size_between(log.log_start_offset, first_dirty)
    return LogToClean(
        first_dirty,
        end,
        clean_bytes,
        log.size_between(first_dirty, end),
        bool(firsts) and min(firsts) < now_wall_ms - config.max_compaction_lag_ms,
    )


def _begins_at(log: Log, offset: int) -> bool:
    return offset >= log.log_end_offset or log.batch_at(offset).base_offset >= offset


def _segments(log: Log, first_dirty: int, config: TopicConfig) -> list[Roll]:
    """Return the segments of the dirty part, the active one last."""
    max_ms = min(config.segment_ms, config.max_compaction_lag_ms)
    rolls = log.rolls
    if (
        rolls is None
        or (rolls.max_bytes, rolls.max_ms) != (config.segment_bytes, max_ms)
        or (rolls.segments and rolls.segments[0].base_offset < first_dirty)
    ):
        rolls = log.rolls = Rolls(first_dirty, config.segment_bytes, max_ms)
    if rolls.end_offset < log.log_end_offset:
        rolls.go_on(log.batches_from(rolls.end_offset), log.log_end_offset)
    return rolls.segments


class CleanedPrefix(NamedTuple):
    """The replacement of all before an offset: the batches, and the aborted transactions with a marker there."""

    batches: list[LoggedBatch]
    aborted: list[AbortedTransaction]


def cleaned(log: Log, wanted: LogToClean, config: TopicConfig, now_wall_ms: int) -> Slices[CleanedPrefix]:
    """Return the cleaned form of all before `wanted.end_offset`, in slices. The log is not changed."""
    end = wanted.end_offset
    latest = OffsetMap()
    producers = log.producer_state
    dirty = CleanedTransactions(producers.transactions.aborted_between(wanted.first_dirty_offset, end))

    def note(key: bytes, offset: int) -> None:
        if offset >= wanted.first_dirty_offset:
            latest.put(key, offset)

    def note_keys(batch: LoggedBatch) -> Slices[None]:
        header = read_batch_header(batch.records)
        if not dirty.may_go(batch, header):
            yield from keys_of(batch, header, note)

    yield from _each(log, wanted.first_dirty_offset, end, note_keys)
    rules = _rules(log, latest, end, config, now_wall_ms)
    transactions = CleanedTransactions(producers.transactions.aborted_between(log.log_start_offset, end))
    kept: list[LoggedBatch] = []

    def keep(batch: LoggedBatch) -> Slices[None]:
        header = read_batch_header(batch.records)
        left = yield from filtered(batch, rules, header, transactions.may_go(batch, header))
        if left is not None:
            kept.append(left)

    yield from _each(log, log.log_start_offset, end, keep)
    yield from latest.drop()
    return CleanedPrefix(kept, transactions.kept)


def _rules(log: Log, latest: OffsetMap, end: int, config: TopicConfig, now_wall_ms: int) -> Rules:
    """Return the rules of a cleaning. Of each producer the last batch is kept for its sequences, or, if it has none,
    its marker for the epoch."""
    ends = {end - 1}
    markers: set[tuple[int, int]] = set()
    producers = log.producer_state
    for producer_id in producers.producer_ids:
        entry = producers.last_entry(producer_id)
        assert entry is not None
        if entry.batches:
            ends.add(entry.batches[-1].last_offset)
        else:
            markers.add((producer_id, entry.producer_epoch))
    return Rules(latest, now_wall_ms, config.delete_retention_ms, frozenset(ends), frozenset(markers))


def _each(log: Log, offset: int, end: int, look: Callable[[LoggedBatch], Slices[None]]) -> Slices[None]:
    """Look at each batch from one offset to another. Between slices batches may go out of memory, so the next one is
    found anew."""
    while offset < end:
        work = 0
        rest: Slices[None] | None = None
        before = offset
        for batch in log.batches_from(offset):
            if batch.base_offset >= end:
                return
            rest = begin(look(batch))
            offset = batch.last_offset + 1
            work += batch.size + _BATCH_WORK
            if rest is not None or work >= _WORK_OF_A_SLICE:
                break
        if offset == before:
            return
        yield
        if rest is not None:
            yield from rest
            yield
