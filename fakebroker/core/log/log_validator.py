"""Validate the records of a batch, as a leader does before it appends.

Theory   Walk the records, decompressed if need be. A fault of structure refuses the batch with INVALID_RECORD, nothing
         told about single records. Whole records are checked one by one: a key on a compacted topic, a timestamp
         within bounds, no claim of LogAppendTime. All that fail are listed, and the batch is refused as a whole.
         What passes gets its largest timestamp. If the topic wants another codec than the batch has, the batch is built
         anew.
Units    timestamps and bounds are milliseconds since the epoch, or their difference; sizes are bytes.
Source   storage/.../log/LogValidator.java; clients/.../record/{DefaultRecordBatch,MemoryRecordsBuilder}.java @ 4.0.
Differs  A compressed batch is decompressed whole before its records are walked, so one that is broken in both ways is
         UNKNOWN_SERVER_ERROR here where Kafka may meet the bad record first. More than MAX_DECOMPRESSED_BYTES is
         MESSAGE_TOO_LARGE; Kafka would go on. Offset and leader epoch are put in when the log is read (log.py).
"""

from __future__ import annotations

from struct import pack_into
from typing import Final, NamedTuple

from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.errors import RecordValidationError
from fakebroker.core.log.batch_validation import validate_batch
from fakebroker.protocol.batch_layout import (
    ATTRIBUTES_AT,
    CRC_AT,
    MAX_TIMESTAMP_AT,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_FLAG,
    TRANSACTIONAL_FLAG,
)
from fakebroker.protocol.compression import (
    Codec,
    DecompressedTooLargeError,
    DecompressionError,
    compress,
    decompress,
)
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import InvalidRecordError, KafkaError
from fakebroker.protocol.record_batch import BatchHeader, compute_crc, pack_batch
from fakebroker.protocol.record_walk import (
    OverlongSizeError,
    RecordFacts,
    RecordsSummary,
    canonical_fields,
    record_facts,
    timestamp_range,
    walk_records,
    wrap_int64,
)
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.varint import encode_varint

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1

# What an uncompressed request could carry at most: the default of socket.request.max.bytes.
MAX_DECOMPRESSED_BYTES = 104_857_600

_CODECS = {codec.name.lower(): codec for codec in Codec} | {"uncompressed": Codec.NONE}
_KEPT_ATTRIBUTES = 0x7F  # a rewritten attribute byte has the seven bits that mean something


class ValidatedBatch(NamedTuple):
    """The batch as it goes into the log. `log_append_time_ms` is -1 on a CreateTime topic."""

    data: bytes
    max_timestamp_ms: int
    log_append_time_ms: int


class LogValidator:
    """The validation of one batch."""

    __slots__ = ("_config", "_header", "_now_ms", "_payload", "_source", "_start", "_target", "_topic_partition")

    def __init__(
        self, records: bytes, header: BatchHeader, config: TopicConfig, topic_partition: TopicPartition, now_ms: int
    ) -> None:
        self._header = header
        self._config = config
        self._topic_partition = topic_partition
        self._now_ms = now_ms
        self._source = header.compression
        self._target = self._source if config.compression_type == "producer" else _CODECS[config.compression_type]
        size = header.size_in_bytes
        self._payload = records if len(records) == size else records[:size]
        self._start = RECORD_BATCH_OVERHEAD

    def validate_messages(self) -> ValidatedBatch:
        """The batch for the log; raises KafkaError, RecordValidationError if records are to blame."""
        header = self._header
        validate_batch(header, self._topic_partition)
        batch = self._payload
        if self._source != Codec.NONE:
            self._payload = self._decompress()
            self._start = 0
        is_same_codec = self._source == self._target
        summary = self._walk(check_sizes=self._source == Codec.NONE or not is_same_codec)
        largest_ms = self._validate_records(summary)
        log_append_time_ms = NO_TIMESTAMP
        if self._config.message_timestamp_type == "LogAppendTime":
            largest_ms = log_append_time_ms = self._now_ms
        if not is_same_codec:
            data = self._build_records(largest_ms)
        elif self._source != Codec.NONE and not summary.in_order:
            # Kafka means to build such a batch anew, but it skipped the keys and values: UnsupportedOperationException
            # of PartialDefaultRecord.key().
            raise KafkaError(ErrorCode.unknown_server_error, "key is skipped in PartialDefaultRecord")
        else:
            data = self._with_timestamp(batch, largest_ms)
        return ValidatedBatch(data, largest_ms, log_append_time_ms)

    def _decompress(self) -> bytes:
        try:
            return decompress(self._source, self._payload[RECORD_BATCH_OVERHEAD:], MAX_DECOMPRESSED_BYTES)
        except DecompressionError as error:
            raise KafkaError(ErrorCode.unknown_server_error, f"Failed to decompress record stream: {error}") from None
        except DecompressedTooLargeError:
            raise KafkaError(
                ErrorCode.message_too_large,
                f"The record batch in the append to {self._topic_partition} decompresses to more than "
                f"{MAX_DECOMPRESSED_BYTES} bytes.",
            ) from None

    def _walk(self, check_sizes: bool) -> RecordsSummary:
        try:
            largest = 2**31 - 1 if self._source == Codec.NONE else self._config.max_decompressed_message_bytes
            return walk_records(self._payload, self._start, self._header.record_count, check_sizes, largest)
        except InvalidRecordError as error:
            # Of an uncompressed record, Kafka reads the size outside of the try: IllegalArgumentException.
            is_caught = self._source != Codec.NONE or not isinstance(error, OverlongSizeError)
            code = ErrorCode.invalid_record if is_caught else ErrorCode.unknown_server_error
            raise KafkaError(code, str(error)) from None

    def _validate_records(self, summary: RecordsSummary) -> int:
        """The largest timestamp; raises RecordValidationError. One look at the summary clears most batches."""
        header, config = self._header, self._config
        if header.has_log_append_time:
            # The records of such a batch all have its largest timestamp.
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
                return max(latest_ms, NO_TIMESTAMP)
        return self._validate_each_record()

    def _validate_each_record(self) -> int:
        largest_ms = NO_TIMESTAMP
        errors: list[tuple[int, str]] = []
        code = ErrorCode.invalid_record
        for index, record in enumerate(self._records()):
            if record.key_size < 0 and "compact" in self._config.cleanup_policy:
                message = (
                    f"Compacted topic cannot accept message without key in topic partition {self._topic_partition}"
                )
                errors.append((index, message))
            elif problem := self._timestamp_problem(record):
                errors.append((index, problem))
                code = ErrorCode.invalid_timestamp
            largest_ms = max(largest_ms, record.timestamp_ms)
        if errors:
            raise RecordValidationError(code, errors)
        return largest_ms

    def _timestamp_problem(self, record: RecordFacts) -> str | None:
        config, now_ms = self._config, self._now_ms
        if config.message_timestamp_type == "CreateTime" and record.timestamp_ms != NO_TIMESTAMP:
            before_ms, after_ms = config.message_timestamp_before_max_ms, config.message_timestamp_after_max_ms
            age_ms = wrap_int64(now_ms - record.timestamp_ms)
            if age_ms > before_ms or wrap_int64(-age_ms) > after_ms:
                return (
                    f"Timestamp {record.timestamp_ms} of message with offset {record.offset_delta} is out of range. "
                    f"The timestamp should be within [{wrap_int64(now_ms - before_ms)}, "
                    f"{wrap_int64(now_ms + after_ms)}]"
                )
        elif self._header.has_log_append_time:
            return (
                f"Invalid timestamp type in message {self._describe(record)}. Producer should not set timestamp type "
                "to LogAppendTime."
            )
        return None

    def _describe(self, record: RecordFacts) -> str:
        """The record as Kafka's toString has it."""
        name, key_size, value_size = "PartialDefaultRecord", record.key_size, record.value_size
        if self._source == Codec.NONE or self._source != self._target:
            name, key_size, value_size = "DefaultRecord", max(key_size, 0), max(value_size, 0)
        return (
            f"{name}(offset={record.offset_delta}, timestamp={record.timestamp_ms}, key={key_size} bytes, "
            f"value={value_size} bytes)"
        )

    def _records(self) -> list[RecordFacts]:
        header = self._header
        records = list(record_facts(self._payload, self._start, header.record_count, header.base_timestamp_ms))
        if header.has_log_append_time:
            return [record._replace(timestamp_ms=header.max_timestamp_ms) for record in records]
        return records

    def _with_timestamp(self, records: bytes, largest_ms: int) -> bytes:
        """The batch with this largest timestamp and the topic's timestamp type; another one needs a new CRC."""
        header = self._header
        timestamp_type = TIMESTAMP_TYPE_FLAG if self._config.message_timestamp_type == "LogAppendTime" else 0
        if header.attributes & TIMESTAMP_TYPE_FLAG == timestamp_type and header.max_timestamp_ms == largest_ms:
            return records
        batch = bytearray(records)
        attributes = header.attributes & _KEPT_ATTRIBUTES & ~TIMESTAMP_TYPE_FLAG | timestamp_type
        pack_into(">h", batch, ATTRIBUTES_AT, attributes)
        pack_into(">q", batch, MAX_TIMESTAMP_AT, largest_ms)
        pack_into(">I", batch, CRC_AT, compute_crc(batch, 0, len(batch)))
        return bytes(batch)

    def _build_records(self, largest_ms: int) -> bytes:
        """The same records in the topic's codec: offsets 0, 1, 2 ..., timestamps relative to the first."""
        header = self._header
        parts: list[bytes] = []
        base_timestamp_ms = NO_TIMESTAMP
        for index, record in enumerate(self._records()):
            if record.timestamp_ms < NO_TIMESTAMP:
                raise KafkaError(ErrorCode.unknown_server_error, f"Invalid negative timestamp {record.timestamp_ms}")
            if index == 0:
                base_timestamp_ms = record.timestamp_ms
            start = b"\0" + encode_varint(record.timestamp_ms - base_timestamp_ms) + encode_varint(index)
            fields = canonical_fields(self._payload, record.body)
            parts += encode_varint(len(start) + len(fields)), start, fields
        if header.producer_id != NO_PRODUCER_ID and (header.producer_epoch == -1 or header.base_sequence < 0):
            # An id below -1 comes this far, to MemoryRecordsBuilder.validateProducerState: IllegalArgumentException.
            raise KafkaError(ErrorCode.unknown_server_error, "Invalid negative producer epoch or sequence number")
        attributes = self._target | header.attributes & TRANSACTIONAL_FLAG
        if self._config.message_timestamp_type == "LogAppendTime":
            attributes |= TIMESTAMP_TYPE_FLAG
        data = pack_batch(
            header._replace(
                attributes=attributes,
                base_timestamp_ms=base_timestamp_ms,
                max_timestamp_ms=largest_ms,
            ),
            compress(self._target, b"".join(parts)),
        )
        if len(data) > self._config.max_message_bytes:
            raise KafkaError(
                ErrorCode.message_too_large,
                f"Message batch size is {len(data)} bytes in append to partition {self._topic_partition} which exceeds "
                f"the maximum configured size of {self._config.max_message_bytes}.",
            )
        return data
