"""A client's reader of the usual response to a Produce request, v3 to v13.

Theory   Nearly every response has no messages, no errors of single records, no tagged fields and few topics: that kind
         is read here. For any other the reader returns None, and the caller uses the tables, which read all. Tests tie
         the two.
Units    `throttle_ms` in milliseconds; -1 where there is no offset.
Source   clients/src/main/resources/common/message/ProduceResponse.json
Speed    by hand, since simulated producers (`python -m benchmarks producers`) receive little else
"""

from __future__ import annotations

import struct
from struct import Struct
from typing import Final, final

from fakebroker.protocol.error_code import ErrorCode

_FIRST_FLEXIBLE: Final = 9
_FIRST_WITH_ID: Final = 13
_FIRST_WITH_LOG_START: Final = 5
_FIRST_WITH_MESSAGES: Final = 8

_SHORT: Final = Struct(">h")
_INT: Final = Struct(">i")
# Index, error, base offset, append time; since v5 log start; since v8 the counts of record errors and of a message.
_PARTITION_V3: Final = Struct(">ihqq")
_PARTITION_V5: Final = Struct(">ihqqq")
_PARTITION_V8: Final = Struct(">ihqqqih")
_PARTITION_V9: Final = Struct(">ihqqqBBB")  # and tags
_NOTHING_V8: Final = (0, -1)
_NOTHING_V9: Final = (1, 0, 0)
_NO_TAGS: Final = 0
_MOST: Final = 127  # of counts and lengths that take one byte

_ERRORS: Final = frozenset(int(code) for code in ErrorCode)
_FAR_MS: Final = 1 << 47  # kio reads times until the year 9999


@final
class AnsweredPartition:
    """The result of a partition. `topic` is its name or, since v13, the 16 bytes of its id."""

    __slots__ = ("base_offset", "error_code", "partition", "topic")

    def __init__(self, topic: str | bytes, partition: int, error_code: int, base_offset: int) -> None:
        self.topic = topic
        self.partition = partition
        self.error_code = error_code
        self.base_offset = base_offset


@final
class PlainAnswer:
    __slots__ = ("correlation_id", "partitions", "throttle_ms")

    def __init__(self, correlation_id: int, partitions: list[AnsweredPartition], throttle_ms: int) -> None:
        self.correlation_id = correlation_id
        self.partitions = partitions
        self.throttle_ms = throttle_ms


def read_plain_answer(frame: bytes, version: int) -> PlainAnswer | None:
    """Read a whole response, without its length. Return None if it is not the usual one, or invalid."""
    try:
        if version >= _FIRST_FLEXIBLE:
            return _read_flexible(frame, version >= _FIRST_WITH_ID)
        return _read_older(frame, version)
    except (IndexError, struct.error, UnicodeDecodeError):
        return None


def _read_flexible(frame: bytes, has_ids: bool) -> PlainAnswer | None:
    topics = frame[5] - 1
    if frame[4] != _NO_TAGS or not 0 <= topics < _MOST:
        return None
    answered: list[AnsweredPartition] = []
    at = 6
    for _ in range(topics):
        topic: str | bytes
        if has_ids:
            topic = frame[at : at + 16]
            at += 16
        else:
            size = frame[at] - 1
            if not 0 < size < _MOST:
                return None
            topic = frame[at + 1 : at + 1 + size].decode()
            at += 1 + size
        count = frame[at] - 1
        if not 0 <= count < _MOST:
            return None
        at += 1
        for _ in range(count):
            index, error, offset, time_ms, _, errors, message, tags = _PARTITION_V9.unpack_from(frame, at)
            if (errors, message, tags) != _NOTHING_V9 or error not in _ERRORS or not -1 <= time_ms < _FAR_MS:
                return None
            answered.append(AnsweredPartition(topic, index, error, offset))
            at += _PARTITION_V9.size
        if frame[at] != _NO_TAGS:
            return None
        at += 1
    throttle_ms: int = _INT.unpack_from(frame, at)[0]
    if len(frame) != at + 5 or frame[at + 4] != _NO_TAGS or throttle_ms < 0:
        return None
    return PlainAnswer(_INT.unpack_from(frame)[0], answered, throttle_ms)


def _read_older(frame: bytes, version: int) -> PlainAnswer | None:
    correlation_id: int = _INT.unpack_from(frame)[0]
    topics: int = _INT.unpack_from(frame, 4)[0]
    if not 0 <= topics < _MOST:
        return None
    answered: list[AnsweredPartition] = []
    at = 8
    for _ in range(topics):
        size: int = _SHORT.unpack_from(frame, at)[0]
        if not 0 < size < _MOST:
            return None
        topic = frame[at + 2 : at + 2 + size].decode()
        at += 2 + size
        count: int = _INT.unpack_from(frame, at)[0]
        at += 4
        if not 0 <= count < _MOST:
            return None
        for _ in range(count):
            index, error, offset, time_ms = _PARTITION_V3.unpack_from(frame, at)
            if error not in _ERRORS or not -1 <= time_ms < _FAR_MS:
                return None
            if version >= _FIRST_WITH_MESSAGES:
                if _PARTITION_V8.unpack_from(frame, at)[5:] != _NOTHING_V8:
                    return None
                at += _PARTITION_V8.size
            else:
                at += _PARTITION_V5.size if version >= _FIRST_WITH_LOG_START else _PARTITION_V3.size
            answered.append(AnsweredPartition(topic, index, error, offset))
    throttle_ms: int = _INT.unpack_from(frame, at)[0]
    if len(frame) != at + 4 or throttle_ms < 0:
        return None
    return PlainAnswer(correlation_id, answered, throttle_ms)
