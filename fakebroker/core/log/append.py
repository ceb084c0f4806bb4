"""Prepare a client's batch for the append to the leader's log, or find that the log already has it.

Theory   The checks run in Kafka's order: the batch (size, CRC, codec, counts), its records, the size of the bytes to
         write. Last come the producer's epoch and sequence, once the offsets are assigned. Nothing is written here, so
         a refused batch leaves no trace in the log.

         The checks that do not need the log may take long. So `validate_append` does them in slices, and the log may
         grow in between. `place` then assigns the offsets and checks the producer, right before the append.
Source   storage/internals/log/UnifiedLog.java append, analyzeAndValidateProducerState @ 4.0.
Differs  A batch is compared with segment.bytes, but the log is not cut into segments of that size.
"""

from __future__ import annotations

from typing import final

from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.log.batch_validation import analyze_and_validate
from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.log.log_validator import NO_TIMESTAMP, LogValidator, with_largest_timestamp
from fakebroker.core.log.plain_append import PlainRules, prepare_plain
from fakebroker.core.log.producer_entry import BatchMetadata, ProducerFields
from fakebroker.core.log.records.record_checks import MAX_RECORD_ERRORS
from fakebroker.core.log.transactions.verification import NO_GUARD
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.plain_batch import is_plain_in_transaction
from fakebroker.protocol.record_batch import BatchHeader
from fakebroker.protocol.slices import Slices, finish
from fakebroker.protocol.topic_partition import TopicPartition


@final
class CheckedBatch:
    """A batch that passed all checks that do not need the log.

    largest_ms      its largest timestamp
    append_time_ms  its log append time, -1 on a CreateTime topic
    """

    __slots__ = ("append_time_ms", "data", "header", "largest_ms")

    def __init__(self, header: BatchHeader, data: bytes, largest_ms: int, append_time_ms: int) -> None:
        self.header = header
        self.data = data
        self.largest_ms = largest_ms
        self.append_time_ms = append_time_ms


def prepare_append(
    log: Log,
    records: bytes,
    is_plain: bool,
    config: TopicConfig,
    plain_rules: PlainRules,
    topic_partition: TopicPartition,
    leader_epoch: int,
    now_wall_ms: int,
    guard: int = NO_GUARD,
) -> tuple[LoggedBatch, int] | BatchMetadata:
    """Return the batch to append and its log append time (-1 on a CreateTime topic), or the batch that it duplicates.

    All checks run in one step, not in slices. For `is_plain` see protocol/plain_batch.py, for `guard`
    transactions/verification.py. Raise KafkaError with the partition's error.
    """
    if is_plain or is_plain_in_transaction(records):
        batch = prepare_plain(records, plain_rules, log.log_end_offset, leader_epoch, now_wall_ms)
        if batch is not None:
            return _analyze_and_validate_producer_state(batch, NO_TIMESTAMP, log, topic_partition, guard)
    checked = finish(validate_append(records, config, topic_partition, now_wall_ms))
    return place(checked, log, topic_partition, leader_epoch, now_wall_ms, guard)


def validate_append(
    records: bytes,
    config: TopicConfig,
    topic_partition: TopicPartition,
    now_wall_ms: int,
    max_record_errors: int = MAX_RECORD_ERRORS,
) -> Slices[CheckedBatch]:
    """Run all checks that do not need the log. Raise KafkaError with the partition's error."""
    header = yield from analyze_and_validate(records, config.max_message_bytes, topic_partition)
    validator = LogValidator(records, header, config, topic_partition, now_wall_ms, max_record_errors)
    data, largest_ms, append_time_ms = yield from validator.validate_messages()
    if len(data) > config.segment_bytes:
        raise KafkaError(
            ErrorCode.record_list_too_large,
            f"Message batch size is {len(data)} bytes in append to partition {topic_partition}, which exceeds the "
            f"maximum configured segment size of {config.segment_bytes}.",
        )
    return CheckedBatch(header, data, largest_ms, append_time_ms)


def place(
    checked: CheckedBatch,
    log: Log,
    topic_partition: TopicPartition,
    leader_epoch: int,
    now_wall_ms: int,
    guard: int = NO_GUARD,
) -> tuple[LoggedBatch, int] | BatchMetadata:
    """Assign offsets to a checked batch, and return what `prepare_append` returns.

    A log append time becomes that of now: other batches may have been appended during the checks, and log append times
    must not decrease.
    """
    header, data, largest_ms, append_time_ms = (
        checked.header, checked.data, checked.largest_ms, checked.append_time_ms,
    )  # fmt: skip
    if append_time_ms not in (NO_TIMESTAMP, now_wall_ms):
        largest_ms = append_time_ms = now_wall_ms
        data = with_largest_timestamp(data, now_wall_ms)
    first_offset = log.log_end_offset
    producer = None
    if header.producer_id >= 0:
        producer = ProducerFields(
            header.producer_id, header.producer_epoch, header.base_sequence, largest_ms, header.is_transactional
        )
    timestamp_ms = now_wall_ms if largest_ms == NO_TIMESTAMP else largest_ms
    last_offset = first_offset + header.last_offset_delta
    batch = LoggedBatch(first_offset, last_offset, leader_epoch, data, timestamp_ms, producer)
    return _analyze_and_validate_producer_state(batch, append_time_ms, log, topic_partition, guard)


def _analyze_and_validate_producer_state(
    batch: LoggedBatch, append_time_ms: int, log: Log, topic_partition: TopicPartition, guard: int
) -> tuple[LoggedBatch, int] | BatchMetadata:
    if batch.producer is not None:
        state = log.producer_state
        duplicate = state.find_duplicate_batch(batch.producer, batch.last_offset - batch.base_offset)
        if duplicate is not None:
            return duplicate
        state.check(batch.producer, batch.base_offset, topic_partition, guard)
    return batch, append_time_ms
