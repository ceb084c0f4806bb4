"""How much of a log is deleted: retention.bytes and retention.ms.

Theory   Deletion moves the log start, batch by batch, and never beyond the high watermark: what is not committed stays.
         A partition is looked at when something is appended (by size) and from time to time (by size and by time).
Units    sizes are bytes of record batches; times are milliseconds since the epoch.
Source   storage/internals/log/UnifiedLog.java deleteOldSegments, deleteRetentionSizeBreachedSegments,
         deleteRetentionMsBreachedSegments @ 4.0.
Differs  Each batch is a segment of its own, so that memory is given back early; in Kafka a segment goes as a whole,
         and only log.retention.check.interval.ms tells when.
"""

from __future__ import annotations

from fakebroker.core.log.log import Log


def start_by_size(log: Log, retention_bytes: int) -> int:
    """Where the log starts if it loses the oldest batches without which it still has `retention_bytes`."""
    excess = log.size_in_bytes - retention_bytes
    if excess <= 0:
        return log.log_start_offset
    position = log.start_position + excess
    start = log.log_end_offset if position >= log.end_position else log.batch_at_position(position).base_offset
    return _held(log, start)


def start_by_time(log: Log, retention_ms: int, now_wall_ms: int) -> int:
    """Where the log starts if it loses the oldest batches that are older than `retention_ms`."""
    oldest_ms = now_wall_ms - retention_ms
    for batch in log.batches_since(oldest_ms):
        if batch.timestamp_ms >= oldest_ms:
            return _held(log, batch.base_offset)
    return _held(log, log.log_end_offset)


def oldest_timestamp_kept_ms(log: Log, retention_ms: int, now_wall_ms: int) -> int | None:
    """Of the first batch that is not older than `retention_ms`; None if there is none. Until it is, `start_by_time`
    stays where it is."""
    oldest_ms = now_wall_ms - retention_ms
    for batch in log.batches_since(oldest_ms):
        if batch.timestamp_ms >= oldest_ms:
            return batch.timestamp_ms
    return None


def start_by_memory(log: Log, max_bytes: int) -> int:
    """Where the log starts if it loses about so much of what it has in memory, as far as its watermark allows."""
    run = log.oldest_in_memory(max_bytes)
    return _held(log, run[-1].last_offset + 1 if run else log.log_start_offset)


def _held(log: Log, start: int) -> int:
    """The same, but not beyond the batch in which the watermark is, nor before where the log starts."""
    if log.high_watermark < log.log_end_offset and start > log.log_start_offset:
        start = min(start, log.batch_at(log.high_watermark).base_offset)
    return max(start, log.log_start_offset)
