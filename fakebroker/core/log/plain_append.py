"""Prepare the batch of nearly every request for the log: checked in one walk, and kept as it is.

`batch_validation.py` and `log_validator.py` do the same for any batch, step by step as Kafka does. Here a plain batch
(protocol/plain_batch.py) without errors is accepted with one walk over its bytes. All other batches, and those to be
refused, go the general way, which finds the error. Instructions for a batch of one record of 100 B, compiled: 3 100,
the general way 38 900.

tests/core/log/test_plain_append_properties.py ties the two ways together.

Source   as for the modules named above.
"""

from __future__ import annotations

from typing import final

from librt.strings import read_i16_be, read_i32_be, read_i64_be

from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.log.log import LoggedBatch
from fakebroker.core.log.producer_entry import ProducerFields
from fakebroker.protocol.batch_layout import (
    BASE_OFFSET_AT,
    BASE_SEQUENCE_AT,
    BASE_TIMESTAMP_AT,
    CRC_AT,
    FLAGS_AT,
    LAST_OFFSET_DELTA_AT,
    MAX_TIMESTAMP_AT,
    PRODUCER_EPOCH_AT,
    PRODUCER_ID_AT,
    RECORD_BATCH_OVERHEAD,
    RECORD_COUNT_AT,
    TRANSACTIONAL_FLAG,
)
from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.record_batch import compute_crc
from fakebroker.protocol.record_walk import timestamp_range, walk


@final
class PlainRules:
    """The rules of a topic for a plain batch.

    max_bytes   of a batch; -1 if the general way has to check all of them
    needs_keys  each record must have one
    before_max_ms, after_max_ms
                how far timestamps may be from now
    """

    __slots__ = ("after_max_ms", "before_max_ms", "max_bytes", "needs_keys")

    def __init__(self, config: TopicConfig) -> None:
        is_plain_topic = config.message_timestamp_type == "CreateTime" and config.compression_type in (
            "producer",
            "uncompressed",
        )
        self.max_bytes = min(config.max_message_bytes, config.segment_bytes) if is_plain_topic else -1
        self.needs_keys = "compact" in config.cleanup_policy
        self.before_max_ms = config.message_timestamp_before_max_ms
        self.after_max_ms = config.message_timestamp_after_max_ms


def prepare_plain(
    records: bytes, rules: PlainRules, first_offset: int, leader_epoch: int, now_wall_ms: int
) -> LoggedBatch | None:
    """Return a plain batch for `first_offset`, in a transaction or not; None if the general way has to check it. The
    leader's fields are written when it is read."""
    size = len(records)
    if size > rules.max_bytes or read_i64_be(records, BASE_OFFSET_AT) != 0:
        return None
    delta: int = read_i32_be(records, LAST_OFFSET_DELTA_AT)
    base_timestamp_ms: int = read_i64_be(records, BASE_TIMESTAMP_AT)
    max_timestamp_ms: int = read_i64_be(records, MAX_TIMESTAMP_AT)
    producer_id: int = read_i64_be(records, PRODUCER_ID_AT)
    base_sequence: int = read_i32_be(records, BASE_SEQUENCE_AT)
    count: int = read_i32_be(records, RECORD_COUNT_AT)
    crc: int = read_i32_be(records, CRC_AT)
    if (
        count <= 0
        or delta + 1 != count
        or (producer_id >= 0 and base_sequence < 0)
        or crc & 0xFFFFFFFF != compute_crc(records, 0, size)
    ):
        return None
    try:
        earliest_delta_ms, latest_delta_ms, null_keys, _ = walk(records, RECORD_BATCH_OVERHEAD, count, True)
    except InvalidRecordError:
        return None
    timestamps = timestamp_range(earliest_delta_ms, latest_delta_ms, base_timestamp_ms)
    if timestamps is None or (null_keys and rules.needs_keys):
        return None
    earliest_ms, latest_ms = timestamps
    if (
        max(latest_ms, -1) != max_timestamp_ms
        or now_wall_ms - earliest_ms > rules.before_max_ms
        or latest_ms - now_wall_ms > rules.after_max_ms
    ):
        return None
    producer = None
    if producer_id >= 0:
        producer = ProducerFields(
            producer_id,
            read_i16_be(records, PRODUCER_EPOCH_AT),
            base_sequence,
            max_timestamp_ms,
            records[FLAGS_AT] & TRANSACTIONAL_FLAG != 0,
        )
    timestamp_ms = now_wall_ms if max_timestamp_ms == -1 else max_timestamp_ms
    return LoggedBatch(first_offset, first_offset + delta, leader_epoch, records, timestamp_ms, producer)
