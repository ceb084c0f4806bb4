"""A batch that grows record by record. Each record is encoded when it arrives, to spread the work.

Theory   The batch has the timestamp of its first record, and records have the difference from it, as in Kafka's
         builder.
Source   clients/.../record/internal/MemoryRecordsBuilder.java @ 4.4.
"""

from __future__ import annotations

from typing import final

from fakebroker.protocol.batch_layout import LOG_OVERHEAD, RECORD_BATCH_OVERHEAD
from fakebroker.protocol.record_batch import BatchHeader, Record, encode_record, pack_batch
from fakebroker.protocol.varint import encode_varint


@final
class BatchBuilder:
    """Encoded records of a batch. `len` is their number. Each record needs a timestamp."""

    def __init__(self) -> None:
        self._body = bytearray()
        self._count = 0
        self._base_ms = self._latest_ms = -1

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        return len(self) > 0

    def append(self, record: Record) -> None:
        timestamp_ms = record.timestamp_ms
        assert timestamp_ms is not None
        if not self._count:
            self._base_ms = self._latest_ms = timestamp_ms
        encoded = encode_record(record, timestamp_ms - self._base_ms, self._count)
        self._body += encode_varint(len(encoded))
        self._body += encoded
        self._latest_ms = max(self._latest_ms, timestamp_ms)
        self._count += 1

    def build(self, attributes: int = 0, producer_id: int = -1, producer_epoch: int = -1) -> bytes:
        """Return the batch, uncompressed, with a valid CRC. There must be a record."""
        header = BatchHeader(
            base_offset=0,
            batch_length=RECORD_BATCH_OVERHEAD - LOG_OVERHEAD + len(self._body),
            partition_leader_epoch=-1,
            magic=2,
            crc=0,
            attributes=attributes,
            last_offset_delta=self._count - 1,
            base_timestamp_ms=self._base_ms,
            max_timestamp_ms=self._latest_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=-1,
            record_count=self._count,
        )
        return pack_batch(header, self._body)
