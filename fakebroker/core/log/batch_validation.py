"""The leader's checks of a batch as a whole, before its records.

Theory   Size before CRC, CRC before codec: `analyze_and_validate`. Then `validate_batch`: counts, control flag and
         sequence. The checks of the request (one batch, magic 2) ran before: protocol/produce_request.py. The records
         themselves: core/log/log_validator.py. The CRC of a large batch takes a slice for each MiB.
Source   storage/.../log/UnifiedLog.java analyzeAndValidateRecords; storage/.../log/LogValidator.java validateBatch
         @ 4.0.
"""

from __future__ import annotations

from struct import Struct

from fakebroker.protocol.batch_layout import ATTRIBUTES_AT, CRC_AT
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.record_batch import (
    LOG_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
    BatchHeader,
    read_batch_header,
    update_crc,
)
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_partition import TopicPartition

_BASE_OFFSET_AND_LENGTH = Struct(">qi")
_CRC = Struct(">I")
_CRC_AT_ONCE = 1 << 20
_ZSTD = 4


def analyze_and_validate(
    records: bytes, max_message_bytes: int, topic_partition: TopicPartition
) -> Slices[BatchHeader]:
    """Return the header of the one batch in `records`. Raise KafkaError with Kafka's code if the batch must be
    refused."""
    base_offset, length = _BASE_OFFSET_AND_LENGTH.unpack_from(records)
    if base_offset != 0:
        raise KafkaError(
            ErrorCode.invalid_record,
            f"The baseOffset of the record batch in the append to {topic_partition} should be 0, but it is "
            f"{base_offset}",
        )
    size: int = length + LOG_OVERHEAD
    if size > max_message_bytes:
        raise KafkaError(
            ErrorCode.message_too_large,
            f"The record batch size in the append to {topic_partition} is {size} bytes which exceeds the maximum "
            f"configured value of {max_message_bytes}.",
        )
    is_valid = RECORD_BATCH_OVERHEAD <= size <= len(records)
    if is_valid:
        crc = 0
        for start in range(ATTRIBUTES_AT, size, _CRC_AT_ONCE):
            if start > ATTRIBUTES_AT:
                yield
            crc = update_crc(crc, records, start, min(start + _CRC_AT_ONCE, size))
        is_valid = crc == _CRC.unpack_from(records, CRC_AT)[0]
    if not is_valid:
        raise KafkaError(ErrorCode.corrupt_message, f"Record is corrupt in topic partition {topic_partition}.")
    header = read_batch_header(records)
    if header.compression > _ZSTD:
        # Kafka fails with IllegalArgumentException here; the client gets -1.
        raise KafkaError(ErrorCode.unknown_server_error, f"Unknown compression type id: {header.compression}")
    return header


def validate_batch(header: BatchHeader, topic_partition: TopicPartition) -> None:
    """Raise INVALID_RECORD for a header that a client may not send."""
    count_from_offsets = header.last_offset_delta + 1
    count = header.record_count
    problem = None
    if count_from_offsets <= 0:
        problem = f"Batch has an invalid offset range: [0, {header.last_offset_delta}]"
    elif count <= 0:
        problem = f"Invalid reported count for record batch: {count}"
    elif count_from_offsets != count:
        problem = f"Inconsistent batch offset range [0, {header.last_offset_delta}] and count of records {count}"
    elif header.is_control:
        problem = "Clients are not allowed to write control records"
    elif header.producer_id >= 0 and header.base_sequence < 0:
        problem = f"Invalid sequence number {header.base_sequence} in record batch with producerId {header.producer_id}"
    if problem is not None:
        raise KafkaError(ErrorCode.invalid_record, f"{problem} in topic partition {topic_partition}")
