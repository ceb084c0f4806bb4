"""The frames of simulated clients: Produce v9 and Fetch v10 requests, and the content of their responses.

Theory   A simulation sends thousands of requests a second. So the protocol's own encoder writes Produce requests, and
         responses without error messages are read by hand. Tests compare both with kio.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

from fakebroker.protocol.batch_layout import (
    CONTROL_FLAG,
    CRC_AT,
    LOG_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
)
from fakebroker.protocol.messages import decode_response, request_frame
from fakebroker.protocol.record_batch import BatchHeader, Record, encode_batch, read_batch_header
from fakebroker.protocol.sent import requests
from fakebroker.protocol.sent.produce_answer import read_plain_answer
from fakebroker.protocol.sent.produce_frame import by_topic, encode_produce_request

PRODUCE, PRODUCE_VERSION = 0, 9
FETCH, FETCH_VERSION = 1, 10  # the newest Fetch that only leaders serve
FETCH_MAX_BYTES = 1 << 20
CLIENT_ID = "sim"

_CONTROL_AT, _PRODUCER_AT, MARKER_TYPE_AT, COMMIT = 22, 43, 69, 1  # positions in a batch
_PRODUCER = struct.Struct(">qh")
_MARK_IDENT = struct.Struct(">?qh")

PartitionResult = tuple[tuple[str, int], int, int]  # (topic, partition), error, base offset


def batch(
    value: bytes,
    count: int,
    timestamp_ms: int,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    attributes: int = 0,
) -> bytes:
    """Return a record batch of `count` records with the same value."""
    return encode_batch(
        [Record(None, value)] * count,
        base_timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        attributes=attributes,
    )


def ident(data: bytes) -> bytes:
    """Return the identity of a batch, wherever in a log it is: its bytes from the CRC to the records. For a transaction
    marker return its type, producer id and epoch."""
    if data[_CONTROL_AT] & CONTROL_FLAG:
        producer_id, epoch = _PRODUCER.unpack_from(data, _PRODUCER_AT)
        return marker_ident(producer_id, epoch, data[MARKER_TYPE_AT] == COMMIT)
    return data[CRC_AT:RECORD_BATCH_OVERHEAD]


def marker_ident(producer_id: int, epoch: int, commits: bool) -> bytes:
    """Return the `ident` of the transaction marker of a producer."""
    return _MARK_IDENT.pack(commits, producer_id, epoch)


def produce(
    correlation_id: int,
    acks: int,
    timeout_ms: int,
    parts: Sequence[tuple[tuple[str, int], bytes]],
    transactional_id: str = "",
) -> bytes:
    """Return the frame of a Produce request. Partitions of one topic must be adjacent."""
    topics = by_topic(parts)
    return encode_produce_request(
        PRODUCE_VERSION, correlation_id, CLIENT_ID, acks, timeout_ms, topics, transactional_id or None
    )


def _sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def fetch(
    correlation_id: int,
    topic: str,
    partition: int,
    offset: int,
    max_wait_ms: int,
    is_committed: bool = False,
    max_bytes: int = FETCH_MAX_BYTES,
) -> bytes:
    """Return the frame of a consumer's Fetch for at least one byte of one partition."""
    values = requests.fetch(
        topic, partition, offset, max_wait_ms=max_wait_ms, max_bytes=FETCH_MAX_BYTES, isolation_level=int(is_committed),
        partition_max_bytes=max_bytes,
    )  # fmt: skip
    return request_frame(FETCH, FETCH_VERSION, values, correlation_id, CLIENT_ID)


def correlation_id_of(frame: bytes) -> int:
    return int.from_bytes(frame[:4], "big", signed=True)


def read_produce_answer(frame: bytes) -> tuple[PartitionResult, ...]:
    """Return the result of each partition, sorted by topic and partition."""
    plain = read_plain_answer(frame, PRODUCE_VERSION)
    if plain is None:
        return _read_any_answer(frame)
    return tuple(
        sorted([((str(one.topic), one.partition), one.error_code, one.base_offset) for one in plain.partitions])
    )


def _read_any_answer(frame: bytes) -> tuple[PartitionResult, ...]:
    response: Any = decode_response(PRODUCE, PRODUCE_VERSION, frame)[1]
    return tuple(
        sorted(
            ((topic.name, partition.index), int(partition.error_code), partition.base_offset)
            for topic in response.responses
            for partition in topic.partition_responses
        )
    )


def read_fetch_answer(frame: bytes) -> tuple[int, int, tuple[bytes, ...]]:
    """Return (error, high watermark, ident of each batch) of a Fetch response for one partition."""
    response: Any = decode_response(FETCH, FETCH_VERSION, frame)[1]
    [topic] = response.responses
    [partition] = topic.partitions
    return int(partition.error_code), partition.high_watermark, idents(partition.records or b"")


def idents(records: bytes) -> tuple[bytes, ...]:
    """Return the ident of each batch in the records of a Fetch response."""
    return tuple([ident(data) for _, data in batches_of(records)])


def batches_of(records: bytes) -> list[tuple[BatchHeader, bytes]]:
    """Return the batches in the records of a Fetch response."""
    batches: list[tuple[BatchHeader, bytes]] = []
    at = 0
    while at < len(records):
        header = read_batch_header(records, at)
        end = at + LOG_OVERHEAD + header.batch_length
        batches.append((header, records[at:end]))
        at = end
    return batches


@cache
def garbage(kind: str, number: int = 1) -> bytes:
    """Return bytes that make a broker close the connection, for different reasons; `GARBAGE` has the names."""
    produced = produce(number, 1, 100, [(("t", 0), batch(b"x", 1, 0))])
    match kind:
        case "negative size":
            return (-1).to_bytes(4, "big", signed=True)
        case "huge size":
            return (2**31 - 1).to_bytes(4, "big")
        case "unknown api":
            return _sized(b"\x7f\x00" + produced[6:])
        case "unserved version":
            return _sized(produced[4:6] + b"\x00\x63" + produced[8:])
        case "cut body":
            return _sized(produced[4:-9])
    raise ValueError(f"there is no garbage called {kind!r}")


GARBAGE = ("negative size", "huge size", "unknown api", "unserved version", "cut body")


def split_frames(data: bytes) -> list[bytes]:
    """Return the frames in these bytes, without their lengths."""
    frames, start = [], 0
    while start < len(data):
        end = start + 4 + int.from_bytes(data[start : start + 4], "big", signed=True)
        assert start + 4 <= end <= len(data), "bytes that are no whole frames"
        frames.append(data[start + 4 : end])
        start = end
    return frames
