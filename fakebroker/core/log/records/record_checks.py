"""Check each record of a sound batch, where the check of the summary was not enough.

Theory   A key on a compacted topic, a timestamp within bounds, no LogAppendTime. Kafka lists every record that fails.
         Here the list is limited, because a response of 30 MB to a request of 1 MB is of no use. The error code of the
         batch is right all the same. So is the number of failed records, except in one case. A batch with a wrong
         timestamp is not checked any further when the list is full; its response does not have the number.
Units    timestamps and bounds are milliseconds since the epoch, or their difference; sizes are bytes.
Source   storage/.../log/LogValidator.java validateRecord, validateKey, validateTimestamp, processRecordErrors @ 4.0.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.errors import RecordValidationError
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.record_batch import BatchHeader
from fakebroker.protocol.record_stream.walks import FactsStream
from fakebroker.protocol.record_walk import wrap_int64
from fakebroker.protocol.topic_partition import TopicPartition

NO_TIMESTAMP: Final = -1

# The limit for one request. The largest batch that librdkafka makes by default (batch.num.messages) has as many
# records; the Java client's default batch.size of 16 KiB has room for 2,340.
MAX_RECORD_ERRORS: Final = 10_000


class EachRecord(FactsStream):
    """The errors of the records, and their earliest and largest timestamp."""

    def __init__(
        self,
        header: BatchHeader,
        config: TopicConfig,
        topic_partition: TopicPartition,
        now_ms: int,
        is_partial: bool,
        max_errors: int,
    ) -> None:
        """Create the check. `is_partial`: Kafka has skipped the keys and values of these records."""
        super().__init__(header.record_count)
        self.earliest_ms: int = 2**63 - 1
        self.largest_ms: int = NO_TIMESTAMP
        self._no_key = f"Compacted topic cannot accept message without key in topic partition {topic_partition}"
        self._base_ms: int = header.base_timestamp_ms
        self._max_ms: int = header.max_timestamp_ms
        self._has_log_append_time = header.has_log_append_time
        self._needs_key = "compact" in config.cleanup_policy
        self._is_create_time = config.message_timestamp_type == "CreateTime"
        self._now_ms: int = now_ms
        self._before_ms: int = config.message_timestamp_before_max_ms
        self._after_ms: int = config.message_timestamp_after_max_ms
        self._is_partial = is_partial
        self._max_errors = max(max_errors, 1)
        self._errors: list[tuple[int, str]] = []
        self._failed = 0
        self._code = ErrorCode.invalid_record

    def check(self) -> None:
        """Raise RecordValidationError if a record has failed."""
        if self._failed:
            raise RecordValidationError(self._code, self._errors, self._failed)

    def on_facts(self, delta_ms: int, offset_delta: i64, key_size: i64, value_size: i64) -> None:
        timestamp_ms: int = self._max_ms if self._has_log_append_time else wrap_int64(self._base_ms + delta_ms)
        if key_size < 0 and self._needs_key:
            self._failed += 1
            if len(self._errors) < self._max_errors:
                self._errors.append((int(self.index), self._no_key))
        elif self._is_create_time and timestamp_ms != NO_TIMESTAMP:
            age_ms = wrap_int64(self._now_ms - timestamp_ms)
            if age_ms > self._before_ms or wrap_int64(-age_ms) > self._after_ms:
                self._timestamp_failed(
                    f"Timestamp {timestamp_ms} of message with offset {offset_delta} is out of range. "
                    f"The timestamp should be within [{wrap_int64(self._now_ms - self._before_ms)}, "
                    f"{wrap_int64(self._now_ms + self._after_ms)}]"
                )
        elif self._has_log_append_time:
            self._timestamp_failed(
                f"Invalid timestamp type in message {self._describe(timestamp_ms, offset_delta, key_size, value_size)}."
                " Producer should not set timestamp type to LogAppendTime."
            )
        if timestamp_ms > self.largest_ms:
            self.largest_ms = timestamp_ms
        if timestamp_ms < self.earliest_ms:
            self.earliest_ms = timestamp_ms

    def _timestamp_failed(self, message: str) -> None:
        self._code = ErrorCode.invalid_timestamp
        self._failed += 1
        if len(self._errors) < self._max_errors:
            self._errors.append((int(self.index), message))
        if len(self._errors) == self._max_errors:
            self.is_stopped = True  # the response has no more of such a batch, not even the number of failures

    def _describe(self, timestamp_ms: int, offset_delta: i64, key_size: i64, value_size: i64) -> str:
        """Return the record as Kafka's toString does."""
        name = "PartialDefaultRecord"
        if not self._is_partial:
            name, key_size, value_size = "DefaultRecord", max(key_size, 0), max(value_size, 0)
        return (
            f"{name}(offset={offset_delta}, timestamp={timestamp_ms}, key={key_size} bytes, value={value_size} bytes)"
        )
