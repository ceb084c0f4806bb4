"""Deletion by retention.bytes and retention.ms.

Theory   Deletion moves the log start, batch by batch, and never beyond the high watermark: uncommitted records stay. A
         partition is checked at each append (by size) and from time to time (by size and by time).
Units    sizes are bytes of record batches; times are milliseconds since the epoch.
Source   storage/internals/log/UnifiedLog.java deleteOldSegments, deleteRetentionSizeBreachedSegments,
         deleteRetentionMsBreachedSegments @ 4.0.
Differs  Each batch is a segment of its own, so that memory is freed early. In Kafka a segment goes as a whole, and only
         log.retention.check.interval.ms decides when.
"""

from __future__ import annotations

from fakebroker.core.log.log import Log


def start_by_size(log: Log, retention_bytes: int) -> int:
    """Return the log start after dropping the oldest batches without which the log still has `retention_bytes`."""
    excess = log.size_in_bytes - retention_bytes
    if excess <= 0:
        return log.log_start_offset
    contents = log.contents
    position = contents.start_position + excess
    is_all = position >= contents.end_position
    return _held(log, log.log_end_offset if is_all else contents.batch_at_position(position).base_offset)


def start_by_time(log: Log, retention_ms: int, now_wall_ms: int) -> int:
    """Return the log start after dropping the oldest batches that are older than `retention_ms`."""
    oldest_ms = now_wall_ms - retention_ms
    for batch in log.contents.batches_since(oldest_ms):
        if batch.timestamp_ms >= oldest_ms:
            return _held(log, batch.base_offset)
    return _held(log, log.log_end_offset)


def oldest_timestamp_kept_ms(log: Log, retention_ms: int, now_wall_ms: int) -> int | None:
    """Return the timestamp of the first batch not older than `retention_ms`; None if there is none. Until that one is
    older, `start_by_time` does not move."""
    oldest_ms = now_wall_ms - retention_ms
    for batch in log.contents.batches_since(oldest_ms):
        if batch.timestamp_ms >= oldest_ms:
            return batch.timestamp_ms
    return None


def start_by_memory(log: Log, max_bytes: int) -> int:
    """Return the log start after dropping about `max_bytes` of memory, as far as the high watermark allows."""
    run = log.contents.oldest_in_memory(max_bytes)
    return _held(log, run[-1].last_offset + 1 if run else log.log_start_offset)


def _held(log: Log, start: int) -> int:
    """Return `start`, but not beyond the batch that holds the high watermark, nor before the log start."""
    if log.high_watermark < log.log_end_offset and start > log.log_start_offset:
        start = min(start, log.batch_at(log.high_watermark).base_offset)
    return max(start, log.log_start_offset)
