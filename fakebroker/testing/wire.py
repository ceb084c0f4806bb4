"""Frames of simulated clients: Produce v9 and Fetch v10 requests, and what their answers say.

Theory   A simulation sends thousands of requests a second, so the frames of Produce are put together by hand; the tests
         tie them to kio, byte for byte. Answers are read by kio, so that nothing of the broker's own writer is used.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from typing import Any

from fakebroker.protocol.build import build
from fakebroker.protocol.messages import decode_response, encode_request, request_type
from fakebroker.protocol.record_batch import LOG_OVERHEAD, Record, encode_batch, read_batch_header
from fakebroker.protocol.varint import encode_unsigned_varint

PRODUCE, PRODUCE_VERSION = 0, 9
FETCH, FETCH_VERSION = 1, 10  # the newest Fetch that only the leader answers
FETCH_MAX_BYTES = 1 << 20
CLIENT_ID = "sim"

_HEADER = struct.Struct(f">hhih{len(CLIENT_ID)}sx")  # client id, no tags
_ACKS_AND_TIMEOUT = struct.Struct(">xhi")  # no transactional id
_NO_TAGS = b"\0"
_IDENT = slice(17, 61)  # of a batch as a client sends it and as the log has it: from the CRC to the records

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
    return encode_batch(
        [Record(None, value)] * count,
        base_timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )


def ident(data: bytes) -> bytes:
    """What tells a batch from every other, wherever in a log it stands: its CRC."""
    return data[_IDENT]


def produce(correlation_id: int, acks: int, timeout_ms: int, parts: Sequence[tuple[tuple[str, int], bytes]]) -> bytes:
    """The frame of a Produce request. Partitions of one topic must stand together."""
    topics: dict[str, list[tuple[int, bytes]]] = {}
    for (topic, partition), records in parts:
        topics.setdefault(topic, []).append((partition, records))
    pieces = [
        _HEADER.pack(PRODUCE, PRODUCE_VERSION, correlation_id, len(CLIENT_ID), CLIENT_ID.encode()),
        _ACKS_AND_TIMEOUT.pack(acks, timeout_ms),
        encode_unsigned_varint(len(topics) + 1),
    ]
    for topic, partitions in topics.items():
        pieces += (_compact(topic.encode()), encode_unsigned_varint(len(partitions) + 1))
        for partition, records in partitions:
            pieces += (partition.to_bytes(4, "big", signed=True), _compact(records), _NO_TAGS)
        pieces.append(_NO_TAGS)
    pieces.append(_NO_TAGS)
    return _sized(b"".join(pieces))


def _compact(data: bytes) -> bytes:
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
    found = []
    while records:
        size = LOG_OVERHEAD + read_batch_header(records).batch_length
        found.append(ident(records[:size]))
        records = records[size:]
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
