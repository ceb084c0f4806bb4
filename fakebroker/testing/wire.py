"""Frames of simulated clients: Produce v9 and Fetch v10 requests, and what their answers say.

Theory   A simulation sends thousands of requests a second, so batches and the frames of Produce are put together by
         hand, and answers to Produce without messages of errors are read by hand. The tests tie all of it to kio and to
         `encode_batch`, byte for byte. Everything else is read by kio. Nothing of the broker's own writer is used.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import timedelta
from functools import cache, lru_cache
from typing import Any

from fakebroker.protocol.batch_layout import ATTRIBUTES_AT, CRC_AT, HEADER, LOG_OVERHEAD, RECORD_BATCH_OVERHEAD
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import decode_response, encode_request, request_type
from fakebroker.protocol.record_batch import compute_crc, read_batch_header
from fakebroker.protocol.varint import encode_unsigned_varint, encode_varint

PRODUCE, PRODUCE_VERSION = 0, 9
FETCH, FETCH_VERSION = 1, 10  # the newest Fetch that only the leader answers
FETCH_MAX_BYTES = 1 << 20
CLIENT_ID = "sim"

# Length, header with client id and no tags; no transactional id, acks, timeout.
_PRODUCE = struct.Struct(f">ihhih{len(CLIENT_ID)}sxxhi")
_CLIENT_ID = CLIENT_ID.encode()
_PARTITION = struct.Struct(">i")
_NO_TAGS = b"\0"
_CRC = struct.Struct(">I")
# Index, error, base offset, append time, log start; lengths of record errors and message; no tags.
_ANSWERED = struct.Struct(">ihqqqBBB")
_NO_ERRORS, _NO_MESSAGE = 1, 0
_ERRORS = frozenset(int(code) for code in ErrorCode)
_FAR_MS = 1 << 47  # kio reads times until the year 9999

PartitionResult = tuple[tuple[str, int], int, int]  # (topic, partition), error, base offset


def batch(
    value: bytes,
    count: int,
    timestamp_ms: int,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytes:
    """A record batch of `count` records that share a value."""
    records = b"".join([head + value + b"\0" for head in _record_heads(len(value), count)])
    header = HEADER.pack(
        0,
        RECORD_BATCH_OVERHEAD - LOG_OVERHEAD + len(records),
        -1,
        2,
        0,
        0,
        count - 1,
        timestamp_ms,
        timestamp_ms,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    )
    whole = header + records
    return whole[:CRC_AT] + _CRC.pack(compute_crc(whole, 0, len(whole))) + whole[ATTRIBUTES_AT:]


@lru_cache(1_000)
def _record_heads(size: int, count: int) -> list[bytes]:
    """Of each of so many records whose values have this size: what stands before the value. No key, no headers."""
    heads = []
    for index in range(count):
        fields = b"\0\0" + encode_varint(index) + encode_varint(-1) + encode_varint(size)
        heads.append(encode_varint(len(fields) + size + 1) + fields)
    return heads


def ident(data: bytes) -> bytes:
    """What tells a batch from every other, wherever in a log it stands: from its CRC to its records."""
    return data[CRC_AT:RECORD_BATCH_OVERHEAD]


def produce(correlation_id: int, acks: int, timeout_ms: int, parts: Sequence[tuple[tuple[str, int], bytes]]) -> bytes:
    """The frame of a Produce request. Partitions of one topic must stand together."""
    topics: dict[str, list[bytes]] = {}
    for (topic, partition), records in parts:
        data = _PARTITION.pack(partition) + encode_unsigned_varint(len(records) + 1) + records + _NO_TAGS
        topics.setdefault(topic, []).append(data)
    pieces = [encode_unsigned_varint(len(topics) + 1)]
    for topic, partitions in topics.items():
        pieces += (_name(topic), encode_unsigned_varint(len(partitions) + 1), *partitions, _NO_TAGS)
    pieces.append(_NO_TAGS)
    body = b"".join(pieces)
    size = _PRODUCE.size - 4 + len(body)
    head = _PRODUCE.pack(size, PRODUCE, PRODUCE_VERSION, correlation_id, len(CLIENT_ID), _CLIENT_ID, acks, timeout_ms)
    return head + body


@lru_cache(1_000)
def _name(topic: str) -> bytes:
    data = topic.encode()
    return encode_unsigned_varint(len(data) + 1) + data


def _sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def fetch(correlation_id: int, topic: str, partition: int, offset: int, max_wait_ms: int) -> bytes:
    """The frame of a consumer's Fetch for at least one byte of one partition."""
    values = {
        "replica_id": -1,
        "max_wait": timedelta(milliseconds=max_wait_ms),
        "min_bytes": 1,
        "max_bytes": FETCH_MAX_BYTES,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [
            {
                "topic": topic,
                "partitions": [
                    {
                        "partition": partition,
                        "current_leader_epoch": -1,
                        "fetch_offset": offset,
                        "log_start_offset": -1,
                        "partition_max_bytes": FETCH_MAX_BYTES,
                    }
                ],
            }
        ],
        "forgotten_topics_data": [],
    }
    return encode_request(build(request_type(FETCH, FETCH_VERSION), values), correlation_id, CLIENT_ID)


def correlation_id_of(frame: bytes) -> int:
    return int.from_bytes(frame[:4], "big", signed=True)


def read_produce_answer(frame: bytes) -> tuple[PartitionResult, ...]:
    """What each partition was answered, sorted by topic and partition."""
    return _read_plain_answer(frame) or _read_any_answer(frame)


def _read_plain_answer(frame: bytes) -> tuple[PartitionResult, ...] | None:
    """The same for an answer without record errors and messages, short enough that each length is one byte; None for
    every other."""
    results: list[PartitionResult] = []
    try:
        topics, at = frame[5] - 1, 6
        if frame[4] or not 0 <= topics < 127:
            return None
        for _ in range(topics):
            size = frame[at] - 1
            count = frame[at + 1 + size] - 1
            if not (0 < size < 127 and 0 <= count < 127):
                return None
            topic, at = frame[at + 1 : at + 1 + size].decode(), at + 2 + size
            for _ in range(count):
                index, error, base_offset, time_ms, _, record_errors, message, tags = _ANSWERED.unpack_from(frame, at)
                if record_errors != _NO_ERRORS or message != _NO_MESSAGE or tags:
                    return None
                if error not in _ERRORS or not -1 <= time_ms < _FAR_MS:
                    return None
                results.append(((topic, index), error, base_offset))
                at += _ANSWERED.size
            if frame[at]:
                return None
            at += 1
        # The throttle time, and no tags.
        return tuple(sorted(results)) if len(frame) == at + 5 and not frame[at + 4] else None
    except (IndexError, struct.error, UnicodeDecodeError):
        return None


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
    """(error, high watermark, ident of each batch) of a Fetch for one partition."""
    response: Any = decode_response(FETCH, FETCH_VERSION, frame)[1]
    [topic] = response.responses
    [partition] = topic.partitions
    return int(partition.error_code), partition.high_watermark, idents(partition.records or b"")


def idents(records: bytes) -> tuple[bytes, ...]:
    """Of each batch in what a Fetch gave."""
    found, at = [], 0
    while at < len(records):
        found.append(ident(records[at : at + 61]))
        at += LOG_OVERHEAD + read_batch_header(records, at).batch_length
    return tuple(found)


@cache
def garbage(kind: str, number: int = 1) -> bytes:
    """Bytes that make a broker close the connection, each for a reason of its own: `GARBAGE` names them."""
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
