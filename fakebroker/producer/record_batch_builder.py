"""A batch under construction: its size, whether another record fits, and finally its bytes.

Theory   Records fit by their encoded size and by `write_limit`, the size of the buffer. The first record always fits,
         as the buffer was made for it. A later record fits if all of them fit together. A batch is full when it has
         reached the limit or was closed. With compression the size is an estimate until the batch is built: the size of
         the records, times the expected ratio, plus a margin.
Units    bytes; milliseconds since the epoch.
Source   clients/.../common/record/internal/{MemoryRecordsBuilder,DefaultRecord,DefaultRecordBatch}.java of 4.3.
Differs  Batches of magic 2 only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fakebroker.producer.compression.batch_compression import BatchCompression
from fakebroker.producer.compression.compression_ratio_estimator import f32
from fakebroker.producer.errors import IllegalProducerStateError
from fakebroker.protocol.batch_layout import RECORD_BATCH_OVERHEAD, TRANSACTIONAL_FLAG
from fakebroker.protocol.record_batch import Record, encode_batch, new_record, pack_batch, read_batch_header

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
_ESTIMATION_FACTOR: Final = f32(1.05)  # MemoryRecordsBuilder.COMPRESSION_RATE_ESTIMATION_FACTOR
_MAX_RECORD_OVERHEAD: Final = 21  # DefaultRecord.MAX_RECORD_OVERHEAD: its varints at their maximum length

Headers = Sequence[tuple[str, bytes | None]]


class RecordBatchBuilder:
    """A builder: open for records, then closed, then built. An aborted builder is never built."""

    def __init__(
        self, write_limit: int, compression: BatchCompression | None = None, estimated_compression_ratio: float = 1.0
    ) -> None:
        self.write_limit = write_limit
        self.compression = compression
        self._estimated_ratio = estimated_compression_ratio
        self._compressed: bytes | None = None
        self.producer_id = NO_PRODUCER_ID
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.base_sequence = NO_SEQUENCE
        self.is_transactional = False
        self._records: list[Record] = []
        self._size = RECORD_BATCH_OVERHEAD
        self._base_timestamp_ms = 0
        self._is_open = True
        self._is_aborted = False
        self._built: bytes | None = None
        self._built_size = 0

    @property
    def num_records(self) -> int:
        return len(self._records)

    @property
    def records(self) -> Sequence[Record]:
        return self._records

    @property
    def is_closed(self) -> bool:
        """True if its bytes are built."""
        return self._built is not None

    @property
    def compression_ratio(self) -> float:
        """Return the ratio of the last build, 1 before the first."""
        if self._built_size == 0:
            return 1.0
        return f32(f32(self._built_size - RECORD_BATCH_OVERHEAD) / f32(self._size - RECORD_BATCH_OVERHEAD))

    def has_room_for(self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers) -> bool:
        if self.is_full():
            return False
        if not self._records:
            return True
        delta_ms = timestamp_ms - self._base_timestamp_ms
        record = size_of_record(len(self._records), delta_ms, key, value, headers)
        return self.write_limit >= self._estimated_bytes_written() + record

    def append(self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        """Append a record, even if it does not fit."""
        assert self._is_open, "a record for a batch that is closed"
        if not self._records:
            self._base_timestamp_ms = timestamp_ms
        self._size += size_of_record(len(self._records), timestamp_ms - self._base_timestamp_ms, key, value, headers)
        self._records.append(new_record(key, value, tuple(headers), timestamp_ms))

    def is_full(self) -> bool:
        return not self._is_open or (bool(self._records) and self.write_limit <= self._estimated_bytes_written())

    def estimated_size_in_bytes(self) -> int:
        """Return its size in bytes; exact once it is built."""
        return self._estimated_bytes_written() if self._built is None else len(self._built)

    def _estimated_bytes_written(self) -> int:
        if self.compression is None:
            return self._size
        written = self._size - RECORD_BATCH_OVERHEAD
        return RECORD_BATCH_OVERHEAD + int(f32(f32(f32(written) * self._estimated_ratio) * _ESTIMATION_FACTOR))

    def set_producer_state(
        self, producer_id: int, producer_epoch: int, base_sequence: int, is_transactional: bool
    ) -> None:
        assert not self.is_closed, "the bytes of the batch are made"
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.is_transactional = is_transactional

    def reopen_and_rewrite_producer_state(
        self, producer_id: int, producer_epoch: int, base_sequence: int, is_transactional: bool
    ) -> None:
        """Discard the bytes, to build the same records with another producer state. Raises IllegalProducerStateError if
        it was aborted."""
        if self._is_aborted:
            raise IllegalProducerStateError("A batch that was aborted is not written anew.")
        self._built = None
        self.set_producer_state(producer_id, producer_epoch, base_sequence, is_transactional)

    def close_for_record_appends(self) -> None:
        """Refuse further records."""
        self._is_open = False

    def abort(self) -> None:
        """Refuse further records and never build."""
        self._is_open = False
        self._is_aborted = True

    def build(self) -> bytes:
        """Return the bytes of the batch; the same each time. Raises IllegalProducerStateError if it was aborted."""
        if self._is_aborted:
            raise IllegalProducerStateError("A batch that was aborted is not built.")
        if self._built is None:
            self._is_open = False
            self._built = encode_batch(
                self._records,
                base_timestamp_ms=self._base_timestamp_ms,
                producer_id=self.producer_id,
                producer_epoch=self.producer_epoch,
                base_sequence=self.base_sequence,
                attributes=TRANSACTIONAL_FLAG if self.is_transactional else 0,
            )
            if self.compression is not None:
                self._built = self._compress(self._built, self.compression)
            self._built_size = len(self._built)
        return self._built

    def _compress(self, plain: bytes, compression: BatchCompression) -> bytes:
        """Compress the records, once even if the header is rewritten later."""
        if self._compressed is None:
            self._compressed = compression.compress(plain[RECORD_BATCH_OVERHEAD:])
        header = read_batch_header(plain)
        return pack_batch(header._replace(attributes=header.attributes | compression.codec), self._compressed)


def size_of_record(
    offset_delta: int, timestamp_delta_ms: int, key: bytes | None, value: bytes | None, headers: Headers
) -> int:
    """Return the bytes of one record, including its length field."""
    body = 1 + _size_of_varint(offset_delta) + _size_of_varint(timestamp_delta_ms) + _size_of(key, value, headers)
    return _size_of_varint(body) + body


def estimate_size_upper_bound(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Return the largest possible size of a batch with this record alone, in bytes."""
    return RECORD_BATCH_OVERHEAD + _MAX_RECORD_OVERHEAD + _size_of(key, value, headers)


def _size_of(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    size = _sized(key) + _sized(value) + _size_of_varint(len(headers))
    for name, header_value in headers:
        size += _sized(name.encode()) + _sized(header_value)
    return size


def _sized(data: bytes | None) -> int:
    return 1 if data is None else _size_of_varint(len(data)) + len(data)


def _size_of_varint(value: int) -> int:
    zigzag = value << 1 if value >= 0 else ~(value << 1)
    return max(1, (zigzag.bit_length() + 6) // 7)
