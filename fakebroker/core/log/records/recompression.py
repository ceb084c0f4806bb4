"""Build a batch anew, because the topic's codec is another one.

Theory   The same records: offsets 0, 1, 2 ..., timestamps relative to the first. Written from a stream to a stream, so
         neither the records nor the result is ever larger than a batch may be.
Units    sizes are bytes, timestamps milliseconds since the epoch.
Source   storage/.../log/LogValidator.java buildRecordsAndAssignOffsets; clients/.../record/MemoryRecordsBuilder.java
         @ 4.0.
"""

from __future__ import annotations

from typing import Final

from fakebroker.core.log.records.record_source import EACH_BYTES, RecordSource
from fakebroker.protocol.compression import compress
from fakebroker.protocol.compression.writers import writer
from fakebroker.protocol.record_batch import BatchHeader
from fakebroker.protocol.record_stream.rewriting import RecordSizes, RewritingStream
from fakebroker.protocol.slices import Slices

_AT_ONCE_BYTES: Final = 16 * 1024  # most batches are no larger


def rewrite(source: RecordSource, header: BatchHeader, target: int, max_bytes: int) -> Slices[tuple[int, bytes | None]]:
    """Return the first timestamp, and the records in the codec `target`; None if they are more than `max_bytes`. The
    records are known to be sound."""
    timestamp_ms = header.max_timestamp_ms if header.has_log_append_time else None
    base_ms = header.base_timestamp_ms
    measured = RecordSizes()
    if source.data is not None and len(source.data) <= _AT_ONCE_BYTES:
        stream = RewritingStream(header.record_count, base_ms, timestamp_ms, measured, True)
        yield from source.feed_all(stream, _AT_ONCE_BYTES)
        written = compress(target, stream.take())
        return stream.first_timestamp_ms, written if len(written) <= max_bytes else None
    stream = RewritingStream(header.record_count, base_ms, timestamp_ms, measured, False)
    yield from source.feed_all(stream, EACH_BYTES)
    stream = RewritingStream(header.record_count, base_ms, timestamp_ms, measured, True)
    compressor = writer(target)
    parts: list[bytes] = []
    size = 0
    for _ in source.feed_all(stream, EACH_BYTES):
        parts.append(compressor.compress(stream.take()))
        size += len(parts[-1])
        yield
        if size > max_bytes:
            return stream.first_timestamp_ms, None
    parts += compressor.compress(stream.take()), compressor.flush()
    data = b"".join(parts)
    return stream.first_timestamp_ms, data if len(data) <= max_bytes else None
