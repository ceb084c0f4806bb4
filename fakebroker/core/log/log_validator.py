"""The leader's validation of the records of a batch before the append.

Theory   Walk the records, decompressed if need be. A structural error refuses the batch with INVALID_RECORD, without
         errors of single records. Sound records are checked one by one: a key on a compacted topic, a timestamp within
         bounds, no LogAppendTime. All that fail are listed, and the batch is refused as a whole. A batch that passes
         gets its largest timestamp. If the topic's codec is another one, the batch is built anew. Records never exist
         as objects, and a large batch never exists decompressed as a whole: each step reads the records as a stream, in
         slices.
Units    timestamps and bounds are milliseconds since the epoch, or their difference; sizes are bytes.
Source   storage/.../log/LogValidator.java; clients/.../record/{DefaultRecordBatch,MemoryRecordsBuilder}.java @ 4.0.
Differs  A compressed batch may be broken both in its bytes and in its records. It is refused for the error that is met
         first; a small one (record_source.py) for its bytes. The stream is not cut where Kafka's is. More than
         MAX_DECOMPRESSED_BYTES is MESSAGE_TOO_LARGE; Kafka would go on. The list of record errors is limited
         (record_checks). Offset and leader epoch are inserted when the log is read (log.py).
"""

from __future__ import annotations

from struct import pack_into
from typing import Final, NamedTuple

from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.log.batch_validation import validate_batch
from fakebroker.core.log.records.recompression import rewrite
from fakebroker.core.log.records.record_checks import MAX_RECORD_ERRORS, NO_TIMESTAMP, EachRecord
from fakebroker.core.log.records.record_source import EACH_BYTES, MAX_DECOMPRESSED_BYTES, SMALL_BYTES, RecordSource
from fakebroker.protocol.batch_layout import (
    ATTRIBUTES_AT,
    CRC_AT,
    MAX_TIMESTAMP_AT,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_FLAG,
    TRANSACTIONAL_FLAG,
)
from fakebroker.protocol.compression import Codec
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import InvalidRecordError, KafkaError
from fakebroker.protocol.record_batch import BatchHeader, compute_crc, pack_batch
from fakebroker.protocol.record_stream.walks import SummaryStream
from fakebroker.protocol.record_walk import OverlongSizeError, RecordsSummary, timestamp_range, walk_records
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_partition import TopicPartition

__all__ = ["MAX_DECOMPRESSED_BYTES", "NO_TIMESTAMP", "LogValidator", "ValidatedBatch", "with_largest_timestamp"]

NO_PRODUCER_ID: Final = -1

_CODECS = {codec.name.lower(): codec for codec in Codec} | {"uncompressed": Codec.NONE}
_KEPT_ATTRIBUTES = 0x7F  # a rewritten attribute byte keeps only the seven bits in use


class ValidatedBatch(NamedTuple):
    """The batch for the log. `log_append_time_ms` is -1 on a CreateTime topic."""

    data: bytes
    max_timestamp_ms: int
    log_append_time_ms: int


class LogValidator:
    """The validation of one batch."""

    __slots__ = ("_batch", "_config", "_header", "_max_errors", "_now_ms", "_records", "_source", "_target",
                 "_topic_partition")  # fmt: skip

    def __init__(
        self,
        records: bytes,
        header: BatchHeader,
        config: TopicConfig,
        topic_partition: TopicPartition,
        now_ms: int,
        max_record_errors: int = MAX_RECORD_ERRORS,
    ) -> None:
        self._header = header
        self._config = config
        self._topic_partition = topic_partition
        self._now_ms = now_ms
        self._max_errors = max_record_errors
        self._source = header.compression
        self._target = self._source if config.compression_type == "producer" else _CODECS[config.compression_type]
        size = header.size_in_bytes
        self._batch = records if len(records) == size else records[:size]

    def validate_messages(self) -> Slices[ValidatedBatch]:
        """Return the batch for the log. Raise KafkaError; RecordValidationError if records fail."""
        header = self._header
        validate_batch(header, self._topic_partition)
        records = RecordSource(self._batch, header, self._topic_partition)
        is_same_codec = self._source == self._target
        summary = yield from self._walk(records, self._source == Codec.NONE or not is_same_codec)
        timestamps = self._cleared(summary)
        if timestamps is None:
            each_record = EachRecord(
                header,
                self._config,
                self._topic_partition,
                self._now_ms,
                self._source != Codec.NONE and is_same_codec,
                self._max_errors,
            )
            yield from records.feed_all(each_record, EACH_BYTES)
            each_record.check()
            timestamps = each_record.earliest_ms, each_record.largest_ms
        earliest_ms, largest_ms = timestamps
        log_append_time_ms = NO_TIMESTAMP
        if self._config.message_timestamp_type == "LogAppendTime":
            largest_ms = log_append_time_ms = self._now_ms
        if not is_same_codec:
            data = yield from self._build_records(records, earliest_ms, largest_ms)
        elif self._source != Codec.NONE and not summary.in_order:
            # Kafka tries to build such a batch anew, but has skipped the keys and values: UnsupportedOperationException
            # of PartialDefaultRecord.key().
            raise KafkaError(ErrorCode.unknown_server_error, "key is skipped in PartialDefaultRecord")
        else:
            data = self._with_timestamp(largest_ms)
        return ValidatedBatch(data, largest_ms, log_append_time_ms)

    def _walk(self, records: RecordSource, check_sizes: bool) -> Slices[RecordsSummary]:
        count = self._header.record_count
        largest = 2**31 - 1 if self._source == Codec.NONE else self._config.max_decompressed_message_bytes
        try:
            if records.data is not None:
                return walk_records(records.data, records.start, count, check_sizes, largest)
            stream = SummaryStream(count, check_sizes, largest)
            yield from records.feed_all(stream, SMALL_BYTES // 2)
            return stream.summary
        except InvalidRecordError as error:
            # Kafka reads the size of an uncompressed record outside of the try: IllegalArgumentException.
            is_caught = self._source != Codec.NONE or not isinstance(error, OverlongSizeError)
            code = ErrorCode.invalid_record if is_caught else ErrorCode.unknown_server_error
            raise KafkaError(code, str(error)) from None

    def _cleared(self, summary: RecordsSummary) -> tuple[int, int] | None:
        """Return the earliest and the largest timestamp; None if each record has to be checked. The summary is enough
        for most batches."""
        header, config = self._header, self._config
        if header.has_log_append_time:
            # All records of such a batch have its largest timestamp.
            within = config.message_timestamp_type == "CreateTime" and header.max_timestamp_ms != NO_TIMESTAMP
            timestamps = (header.max_timestamp_ms, header.max_timestamp_ms) if within else None
        else:
            timestamps = timestamp_range(summary.earliest_delta_ms, summary.latest_delta_ms, header.base_timestamp_ms)
        if timestamps is not None and not (summary.null_keys and "compact" in config.cleanup_policy):
            earliest_ms, latest_ms = timestamps
            if config.message_timestamp_type != "CreateTime" or (
                self._now_ms - earliest_ms <= config.message_timestamp_before_max_ms
                and latest_ms - self._now_ms <= config.message_timestamp_after_max_ms
            ):
                return earliest_ms, max(latest_ms, NO_TIMESTAMP)
        return None

    def _with_timestamp(self, largest_ms: int) -> bytes:
        """Return the batch with this largest timestamp and the topic's timestamp type. A change needs a new CRC."""
        header = self._header
        timestamp_type = TIMESTAMP_TYPE_FLAG if self._config.message_timestamp_type == "LogAppendTime" else 0
        if header.attributes & TIMESTAMP_TYPE_FLAG == timestamp_type and header.max_timestamp_ms == largest_ms:
            return self._batch
        attributes = header.attributes & _KEPT_ATTRIBUTES & ~TIMESTAMP_TYPE_FLAG | timestamp_type
        return with_largest_timestamp(self._batch, largest_ms, attributes)

    def _build_records(self, records: RecordSource, earliest_ms: int, largest_ms: int) -> Slices[bytes]:
        """Return the same records in the topic's codec: offsets 0, 1, 2 ..., timestamps relative to the first."""
        header = self._header
        if earliest_ms < NO_TIMESTAMP:
            raise KafkaError(ErrorCode.unknown_server_error, f"Invalid negative timestamp {earliest_ms}")
        if header.producer_id != NO_PRODUCER_ID and (header.producer_epoch == -1 or header.base_sequence < 0):
            # An id below -1 gets as far as MemoryRecordsBuilder.validateProducerState: IllegalArgumentException.
            raise KafkaError(ErrorCode.unknown_server_error, "Invalid negative producer epoch or sequence number")
        attributes = self._target | header.attributes & TRANSACTIONAL_FLAG
        if self._config.message_timestamp_type == "LogAppendTime":
            attributes |= TIMESTAMP_TYPE_FLAG
        room = self._config.max_message_bytes - RECORD_BATCH_OVERHEAD
        base_timestamp_ms, rewritten = yield from rewrite(records, header, self._target, room)
        if rewritten is None:
            raise KafkaError(
                ErrorCode.message_too_large,
                f"Message batch size in append to partition {self._topic_partition} exceeds the maximum configured "
                f"size of {self._config.max_message_bytes}.",
            )
        return pack_batch(
            header._replace(attributes=attributes, base_timestamp_ms=base_timestamp_ms, max_timestamp_ms=largest_ms),
            rewritten,
        )


def with_largest_timestamp(batch: bytes, largest_ms: int, attributes: int | None = None) -> bytes:
    """Return the batch with this largest timestamp, these attributes if given, and a new CRC."""
    changed = bytearray(batch)
    if attributes is not None:
        pack_into(">h", changed, ATTRIBUTES_AT, attributes)
    pack_into(">q", changed, MAX_TIMESTAMP_AT, largest_ms)
    pack_into(">I", changed, CRC_AT, compute_crc(changed, 0, len(changed)))
    return bytes(changed)
