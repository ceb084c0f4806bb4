"""Checks of the records of a Produce request, before any partition is used.

Source   clients/.../requests/ProduceRequest.java validateRecords; clients/.../requests/RequestUtils.java
         hasTransactionalRecords; clients/.../record/ByteBufferLogInputStream.java nextBatchSize;
         core/.../server/ReplicaManager.scala handleProduceAppend @ 4.0.
"""

from __future__ import annotations

from struct import Struct

from fakebroker.protocol.batch_layout import (
    COMPRESSION_MASK,
    FLAGS_AT,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC_AT,
    PRODUCER_EPOCH_AT,
    PRODUCER_ID_AT,
    TRANSACTIONAL_FLAG,
)
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

_ZSTD = 4
_PRODUCER = Struct(">qh")  # id and epoch
_PRODUCER_ID_END = PRODUCER_EPOCH_AT
_SMALLEST_LENGTH = 14  # of a legacy message, behind its own length field


def is_transactional(records: bytes) -> bool:
    """Return True if the first batch has the transactional bit. Raises CORRUPT_MESSAGE like `validate_records`."""
    if _batch_size(records, 0) is None or records[MAGIC_AT] != 2:
        return False
    return bool(records[FLAGS_AT] & TRANSACTIONAL_FLAG)


def producer_in_transaction(records: bytes) -> tuple[int, int] | None:
    """Return (producer id, epoch) of a batch that passed `validate_records`, if it needs a check by the coordinator."""
    producer_id, epoch = _PRODUCER.unpack_from(records, PRODUCER_ID_AT)
    return (producer_id, epoch) if producer_id >= 0 and is_transactional(records) else None


def validate_records(records: bytes, api_version: int) -> None:
    """Raise KafkaError unless `records` begin with exactly one whole batch of magic 2 (Produce v3 and later)."""
    size = _batch_size(records, 0)
    if size is None:
        raise KafkaError(
            ErrorCode.invalid_record,
            f"Produce requests with version {api_version} must have at least one record batch per partition",
        )
    magic = records[MAGIC_AT]
    if magic != 2:
        raise KafkaError(
            ErrorCode.invalid_record,
            f"Produce requests with version {api_version} are only allowed to contain record batches with magic "
            f"version 2, but found magic version {magic}",
        )
    # Even the shortest batch that has passed reaches behind its attributes.
    codec = records[FLAGS_AT] & COMPRESSION_MASK
    if api_version < 7 and codec > _ZSTD:
        # Kafka fails with IllegalArgumentException here, and with it the whole request.
        raise KafkaError(ErrorCode.unknown_server_error, f"Unknown compression type id: {codec}")
    if api_version < 7 and codec == _ZSTD:
        raise KafkaError(
            ErrorCode.unsupported_compression_type,
            f"Produce requests with version {api_version} are not allowed to use ZStandard compression",
        )
    if _batch_size(records, size) is not None:
        raise KafkaError(
            ErrorCode.invalid_record,
            f"Produce requests with version {api_version} are only allowed to contain exactly one record batch",
        )
    if size < _PRODUCER_ID_END:
        # Kafka then looks for transactions, and reads beyond the end of the batch: the whole request fails.
        raise KafkaError(ErrorCode.unknown_server_error, f"A batch of {size} bytes has no producer id.")


def _batch_size(records: bytes, offset: int) -> int | None:
    """Return the size of the batch at `offset`; None if it is not complete.

    An impossible size or magic raises CORRUPT_MESSAGE, as in Kafka's iterator over batches.
    """
    remaining = len(records) - offset
    if remaining < LOG_OVERHEAD:
        return None
    length = int.from_bytes(records[offset + LENGTH_AT : offset + LOG_OVERHEAD], "big", signed=True)
    if length < _SMALLEST_LENGTH:
        raise KafkaError(
            ErrorCode.corrupt_message,
            f"Record size {length} is less than the minimum record overhead ({_SMALLEST_LENGTH})",
        )
    if remaining <= MAGIC_AT:
        return None
    magic = records[offset + MAGIC_AT]
    if magic > 2:
        signed = magic - 256 if magic > 127 else magic
        raise KafkaError(ErrorCode.corrupt_message, f"Invalid magic found in record: {signed}")
    size = LOG_OVERHEAD + length
    return size if size <= remaining else None
