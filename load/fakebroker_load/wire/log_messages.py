"""The requests that read a log back, as bytes, and their responses.

Theory   OffsetForLeaderEpoch returns the leader's log end offset, also beyond the high watermark. No other request of a
         consumer does. Fetch returns the records up to the high watermark. The versions are fixed, like those in
         messages.py: every Kafka since 2.7 reads OffsetForLeaderEpoch v3 and Fetch v12.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from kio.schema.fetch.v12.response import FetchResponse
from kio.schema.offset_for_leader_epoch.v3.response import OffsetForLeaderEpochResponse

from fakebroker.protocol.batch_layout import COMPRESSION_MASK
from fakebroker.protocol.compression import DecompressedTooLargeError, DecompressionError, decompress
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.errors import InvalidRecordError, ProtocolError
from fakebroker.protocol.messages import decode_response, request_frame
from fakebroker.protocol.record_batch import (
    RECORD_BATCH_OVERHEAD,
    BatchHeader,
    Record,
    decode_records,
    pack_batch,
    read_batch_header,
)
from fakebroker.protocol.sent import requests
from fakebroker_load.wire.messages import CLIENT_ID

FETCH, FETCH_VERSION = 1, 12
OFFSET_FOR_LEADER_EPOCH, OFFSET_FOR_LEADER_EPOCH_VERSION = 23, 3
CONSUMER = -1
MAX_BYTES = 4 << 20
MAX_DECOMPRESSED_BYTES = 64 << 20  # of a batch
P = TypeVar("P")


class RefusedError(ProtocolError):
    """The broker responded with an error code. Other errors of this module are invalid or contradictory bytes."""


class OffsetOutOfRangeError(RefusedError):
    """The log does not have this offset."""


class FetchedPartition(NamedTuple):
    high_watermark: int
    records: bytes  # whole batches; the last one may be cut
    aborted: tuple[tuple[int, int], ...] = ()  # for read_committed: producer id, and its first offset


def encode_end_offset(correlation_id: int, topic: str, partition: int, leader_epoch: int) -> bytes:
    topics = [{"topic": topic, "partitions": [{"partition": partition, "leader_epoch": leader_epoch}]}]
    values = {"replica_id": CONSUMER, "topics": topics}
    return request_frame(OFFSET_FOR_LEADER_EPOCH, OFFSET_FOR_LEADER_EPOCH_VERSION, values, correlation_id, CLIENT_ID)


def decode_end_offset(frame: bytes, topic: str, partition: int, leader_epoch: int) -> int:
    """Return the end of the epoch. Raises ProtocolError for an error, for another partition or epoch, and if the leader
    does not know the epoch."""
    _, answer = decode_response(OFFSET_FOR_LEADER_EPOCH, OFFSET_FOR_LEADER_EPOCH_VERSION, frame)
    assert isinstance(answer, OffsetForLeaderEpochResponse)
    name, part = _only([(entry.topic, part) for entry in answer.topics for part in entry.partitions])
    if (name, part.partition) != (topic, partition):
        raise ProtocolError(f"where the log ends: the answer is about partition {name}-{part.partition}")
    if part.error_code is not ErrorCode.none or part.end_offset < 0:
        raise ProtocolError(f"where the log of partition {part.partition} ends: {kafka_name(part.error_code)}")
    if part.leader_epoch != leader_epoch:
        raise ProtocolError(
            f"where the log of partition {part.partition} ends: the response is about epoch {part.leader_epoch}, "
            f"the request was about {leader_epoch}"
        )
    return int(part.end_offset)


def encode_fetch(
    correlation_id: int,
    topic: str,
    partition: int,
    offset: int,
    max_wait_ms: int,
    is_committed: bool = False,
    max_bytes: int = MAX_BYTES,
) -> bytes:
    values = requests.fetch(
        topic,
        partition,
        offset,
        max_bytes=max_bytes,
        max_wait_ms=max_wait_ms,
        min_bytes=1 if max_wait_ms else 0,
        isolation_level=int(is_committed),
    )
    return request_frame(FETCH, FETCH_VERSION, values, correlation_id, CLIENT_ID)


def decode_fetch(frame: bytes, topic: str, partition: int) -> FetchedPartition:
    """Return the response for that partition. Raises RefusedError for an error code, ProtocolError for invalid bytes
    and for another partition."""
    _, answer = decode_response(FETCH, FETCH_VERSION, frame)
    assert isinstance(answer, FetchResponse)
    if answer.error_code is not ErrorCode.none:
        raise RefusedError(f"Fetch: {kafka_name(answer.error_code)}")
    name, part = _only([(entry.topic, part) for entry in answer.responses for part in entry.partitions])
    if (name, part.partition_index) != (topic, partition):
        raise ProtocolError(f"Fetch: the answer is about partition {name}-{part.partition_index}")
    if part.error_code is ErrorCode.offset_out_of_range:
        raise OffsetOutOfRangeError(f"Fetch of partition {partition}: {kafka_name(part.error_code)}")
    if part.error_code is not ErrorCode.none:
        raise RefusedError(f"Fetch of partition {partition}: {kafka_name(part.error_code)}")
    aborted = tuple((int(txn.producer_id), int(txn.first_offset)) for txn in part.aborted_transactions or ())
    return FetchedPartition(int(part.high_watermark), part.records or b"", aborted)


def _only(parts: list[P]) -> P:
    if len(parts) != 1:
        raise ProtocolError(f"the answer is about {len(parts)} partitions; the request was about one")
    return parts[0]


def batches(data: bytes) -> Iterator[tuple[int, int, list[Record] | None]]:
    """Yield (base offset, last offset, records) of each whole batch. Raises ProtocolError for invalid bytes."""
    for header, batch in whole_batches(data):
        yield header.base_offset, header.last_offset, records_of(header, batch)


def records_of(header: BatchHeader, batch: bytes) -> list[Record] | None:
    """Return the records; none for a control batch, None for a batch that cannot be decompressed or read."""
    if header.is_control:
        return []
    if header.compression:
        try:
            plain = decompress(header.compression, batch[RECORD_BATCH_OVERHEAD:], MAX_DECOMPRESSED_BYTES)
            whole = header._replace(attributes=header.attributes & ~COMPRESSION_MASK)
            return decode_records(pack_batch(whole, plain))
        except (DecompressionError, DecompressedTooLargeError, InvalidRecordError, KeyError):
            return None
    try:
        return decode_records(batch)
    except InvalidRecordError:
        return None


def whole_batches(data: bytes) -> Iterator[tuple[BatchHeader, bytes]]:
    """Yield each whole batch. The last one may be cut, and is left out. Raises ProtocolError for invalid bytes."""
    at = 0
    while len(data) - at >= RECORD_BATCH_OVERHEAD:
        header = read_batch_header(data, at)
        end = at + header.size_in_bytes
        if header.size_in_bytes < RECORD_BATCH_OVERHEAD:
            raise ProtocolError(f"a batch claims {header.size_in_bytes} bytes")
        if end > len(data):
            return
        yield header, data[at:end]
        at = end
