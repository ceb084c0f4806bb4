"""What a leader checks of the records of a produce request, and what it writes into them.

Theory   `analyze_and_validate` looks at the batch: size before CRC, then CRC, then counts, control flag and sequence.
         `stamp_batch` writes what the leader owns: offset, epoch, append time. What concerns the request as a whole
         (one batch, magic 2) was checked before: protocol/produce_request.py.
Source   storage/.../log/UnifiedLog.java analyzeAndValidateRecords; storage/.../log/LogValidator.java validateBatch
         @ 4.0.
Differs  Records inside the batch are not walked yet, compressed ones not opened: README, what is not there yet.
"""

from __future__ import annotations

from struct import pack_into

from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.record_batch import (
    LOG_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
    BatchHeader,
    compute_crc,
    is_crc_valid,
    read_batch_header,
)

_LENGTH_OFFSET = 8
_ZSTD = 4
_TIMESTAMP_TYPE_BIT = 0x08


def analyze_and_validate(records: bytes, max_message_bytes: int) -> BatchHeader:
    """The header of the one batch in `records`; raises KafkaError with Kafka's code if the batch must be refused."""
    size = int.from_bytes(records[_LENGTH_OFFSET:LOG_OVERHEAD], "big", signed=True) + LOG_OVERHEAD
    if int.from_bytes(records[:_LENGTH_OFFSET], "big", signed=True) != 0:
        raise KafkaError(ErrorCode.invalid_record, "The baseOffset of the record batch should be 0")
    if size > max_message_bytes:
        raise KafkaError(
            ErrorCode.message_too_large,
            f"The record batch size is {size} bytes which exceeds the maximum configured value of {max_message_bytes}.",
        )
    if size < RECORD_BATCH_OVERHEAD or not is_crc_valid(records, 0, size):
        raise KafkaError(ErrorCode.corrupt_message, "Record is corrupt")
    header = read_batch_header(records)
    if header.compression > _ZSTD:
        # Kafka fails with IllegalArgumentException here, which a client sees as -1.
        raise KafkaError(ErrorCode.unknown_server_error, f"Unknown compression type id: {header.compression}")
    _validate_batch(header)
    return header


def _validate_batch(header: BatchHeader) -> None:
    count_from_offsets = header.last_offset_delta + 1
    if count_from_offsets <= 0:
        raise KafkaError(
            ErrorCode.invalid_record, f"Batch has an invalid offset range: [0, {header.last_offset_delta}]"
        )
    if header.record_count <= 0:
        raise KafkaError(ErrorCode.invalid_record, f"Invalid reported count for record batch: {header.record_count}")
    if count_from_offsets != header.record_count:
        raise KafkaError(
            ErrorCode.invalid_record,
            f"Inconsistent batch offset range [0, {header.last_offset_delta}] and count of records "
            f"{header.record_count}",
        )
    if header.is_control:
        raise KafkaError(ErrorCode.invalid_record, "Clients are not allowed to write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise KafkaError(
            ErrorCode.invalid_record,
            f"Invalid sequence number {header.base_sequence} in record batch with producerId {header.producer_id}",
        )


def stamp_batch(
    records: bytes, header: BatchHeader, base_offset: int, leader_epoch: int, log_append_time_ms: int | None
) -> bytes:
    """The batch as it goes into the log. `log_append_time_ms` is None on a CreateTime topic.

    Offset and epoch lie outside the CRC; a changed timestamp needs a new one.
    """
    batch = bytearray(records[: header.size_in_bytes])
    pack_into(">q", batch, 0, base_offset)
    pack_into(">i", batch, LOG_OVERHEAD, leader_epoch)
    attributes = header.attributes & ~_TIMESTAMP_TYPE_BIT
    if log_append_time_ms is not None:
        attributes |= _TIMESTAMP_TYPE_BIT
        pack_into(">q", batch, 35, log_append_time_ms)
    if log_append_time_ms is not None or attributes != header.attributes:
        pack_into(">h", batch, 21, attributes)
        pack_into(">I", batch, 17, compute_crc(batch, 0, len(batch)))
    return bytes(batch)
