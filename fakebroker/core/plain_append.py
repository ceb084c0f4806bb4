"""Make the batch that nearly every request carries ready for the log: checked in one go, and kept as it is.

`record_validation.py` and `log_validator.py` do the same for any batch, step by step as Kafka does. Here what is plain
(protocol/plain_batch.py) and without fault is accepted with one walk over its bytes; whatever else there
is, and all that is to be refused, goes the general way, which says what is wrong. Instructions for a batch of one
record of 100 B, compiled: 10 600, the general way 38 900.

tests/core/test_plain_append_properties.py ties the two ways together.

Source   as for the modules named above.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from fakebroker.core.config import TopicConfig
from fakebroker.core.log import LoggedBatch
from fakebroker.core.producer_state import ProducerBatch
from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.plain_batch import is_plain
from fakebroker.protocol.record_batch import RECORD_BATCH_OVERHEAD, compute_crc
from fakebroker.protocol.record_walk import timestamp_range, walk

_BASE_OFFSET: Final = Struct(">q")
_CRC_AND_BEHIND: Final = Struct(">Ihiqqqhii")  # CRC, attributes, last offset delta, times, producer, record count
_CRC_OFFSET: Final = 17


def prepare_plain(
    records: bytes, config: TopicConfig, first_offset: int, leader_epoch: int, now_wall_ms: int
) -> LoggedBatch | None:
    """The batch at `first_offset`; None if the general way has to see it."""
    if not is_plain(records):
        return None
    size = len(records)
    if (
        size > config.max_message_bytes
        or size > config.segment_bytes
        or config.message_timestamp_type != "CreateTime"
        or config.compression_type not in ("producer", "uncompressed")
        or _BASE_OFFSET.unpack_from(records)[0] != 0
    ):
        return None
    crc: int
    delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int
    (crc, _, delta, base_timestamp_ms, max_timestamp_ms, producer_id, producer_epoch, base_sequence, count) = (
        _CRC_AND_BEHIND.unpack_from(records, _CRC_OFFSET)
    )
    if (
        count <= 0
        or delta + 1 != count
        or (producer_id >= 0 and base_sequence < 0)
        or crc != compute_crc(records, 0, size)
    ):
        return None
    try:
        earliest_delta_ms, latest_delta_ms, null_keys, _ = walk(records, RECORD_BATCH_OVERHEAD, count, True)
    except InvalidRecordError:
        return None
    timestamps = timestamp_range(earliest_delta_ms, latest_delta_ms, base_timestamp_ms)
    if timestamps is None or (null_keys and "compact" in config.cleanup_policy):
        return None
    earliest_ms, latest_ms = timestamps
    if (
        max(latest_ms, -1) != max_timestamp_ms
        or now_wall_ms - earliest_ms > config.message_timestamp_before_max_ms
        or latest_ms - now_wall_ms > config.message_timestamp_after_max_ms
    ):
        return None
    producer = None
    if producer_id >= 0:
        producer = ProducerBatch(producer_id, producer_epoch, base_sequence, max_timestamp_ms)
    timestamp_ms = now_wall_ms if max_timestamp_ms == -1 else max_timestamp_ms
    return LoggedBatch(first_offset, first_offset + delta, leader_epoch, records, timestamp_ms, producer)
