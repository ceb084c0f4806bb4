"""Make a batch of a client ready for the leader's log, or find that the log has it already.

Theory   The checks of an append in Kafka's order: the batch (size, CRC, codec, counts), its records, the size of what
         is to be written, and last, with the offsets assigned, the producer's epoch and sequence. Nothing is written
         here, so an error leaves no trace.
Source   storage/internals/log/UnifiedLog.java append, analyzeAndValidateProducerState @ 4.0.
Differs  Sizes are compared with segment.bytes, but there are no segments.
"""

from __future__ import annotations

from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.log.batch_validation import analyze_and_validate
from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.log.log_validator import NO_TIMESTAMP, LogValidator
from fakebroker.core.log.plain_append import PlainRules, prepare_plain
from fakebroker.core.log.producer_state import BatchMetadata, ProducerBatch
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.topic_partition import TopicPartition


def prepare_append(
    log: Log,
    records: bytes,
    is_plain: bool,
    config: TopicConfig,
    plain_rules: PlainRules,
    topic_partition: TopicPartition,
    leader_epoch: int,
    now_wall_ms: int,
) -> tuple[LoggedBatch, int] | BatchMetadata:
    """The batch to append and its log append time (-1 on a CreateTime topic), or the batch that it repeats. `is_plain`
    as protocol/plain_batch.py has it.

    Raises KafkaError with the partition's error.
    """
    first_offset = log.log_end_offset
    append_time_ms = NO_TIMESTAMP
    batch = prepare_plain(records, plain_rules, first_offset, leader_epoch, now_wall_ms) if is_plain else None
    if batch is None:
        batch, append_time_ms = _prepare(records, config, topic_partition, first_offset, leader_epoch, now_wall_ms)
    if batch.producer is not None:
        state = log.producer_state
        duplicate = state.find_duplicate_batch(batch.producer, batch.last_offset - first_offset)
        if duplicate is not None:
            return duplicate
        state.check(batch.producer, first_offset, topic_partition)
    return batch, append_time_ms


def _prepare(
    records: bytes,
    config: TopicConfig,
    topic_partition: TopicPartition,
    first_offset: int,
    leader_epoch: int,
    now_wall_ms: int,
) -> tuple[LoggedBatch, int]:
    header = analyze_and_validate(records, config.max_message_bytes, topic_partition)
    last_offset = first_offset + header.last_offset_delta
    validator = LogValidator(records, header, config, topic_partition, now_wall_ms)
    data, largest_ms, append_time_ms = validator.validate_messages()
    if len(data) > config.segment_bytes:
        raise KafkaError(
            ErrorCode.record_list_too_large,
            f"Message batch size is {len(data)} bytes in append to partition {topic_partition}, which exceeds the "
            f"maximum configured segment size of {config.segment_bytes}.",
        )
    producer = None
    if header.producer_id >= 0:
        producer = ProducerBatch(header.producer_id, header.producer_epoch, header.base_sequence, largest_ms)
    timestamp_ms = now_wall_ms if largest_ms == NO_TIMESTAMP else largest_ms
    return LoggedBatch(first_offset, last_offset, leader_epoch, data, timestamp_ms, producer), append_time_ms
