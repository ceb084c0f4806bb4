"""A reader of Fetch requests, versions 4 to 18, by hand, as produce_reader.py reads Produce requests.

Unusual requests (a null, a tagged field, a long count, bytes that end) are left to the general reader, which reports
errors. A follower's id is a tagged field from v15 on, so its requests go there too.
"""

from __future__ import annotations

from typing import Final

from librt.strings import read_i16_be, read_i32_be, read_i64_be

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.fetch.request import (
    NO_TOPIC_ID,
    FetchPartitionData,
    FetchRequest,
    FetchTopicData,
    ForgottenTopic,
)
from fakebroker.protocol.large_frame import LargeFrame

_FEW: Final = 127  # topics or partitions; other counts are left to the general reader
_MANY: Final = 512  # partitions of all topics; more are left to the general reader, which works in slices


def read_by_hand(version: int, frame: bytes | LargeFrame, offset: int) -> FetchRequest | None:
    """Read the body at the offset, of a request without nulls, tags and large counts. Return None for any other, and
    for a malformed one."""
    if not isinstance(frame, bytes):
        return None
    try:
        return _read_flexible(version, frame, offset) if version >= 12 else _read_fixed(version, frame, offset)
    except (IndexError, UnicodeDecodeError, ProtocolError):
        return None


def _read_fixed(version: int, frame: bytes, offset: int) -> FetchRequest | None:
    """Read versions 4 to 11: lengths and counts of fixed size, no tags."""
    replica_id: int = read_i32_be(frame, offset)
    max_wait_ms: int = read_i32_be(frame, offset + 4)
    min_bytes: int = read_i32_be(frame, offset + 8)
    max_bytes: int = read_i32_be(frame, offset + 12)
    isolation_level = _signed_byte(frame[offset + 16])
    offset += 17
    session_id: int = 0
    session_epoch: int = -1
    if version >= 7:
        session_id = read_i32_be(frame, offset)
        session_epoch = read_i32_be(frame, offset + 4)
        offset += 8
    number: int = read_i32_be(frame, offset)
    offset += 4
    if not 0 <= number < _FEW:
        return None
    left: int = _MANY
    topics: list[FetchTopicData] = []
    for _ in range(number):
        size: int = read_i16_be(frame, offset)
        offset += 2
        if size < 0 or offset + size > len(frame):
            return None
        name = frame[offset : offset + size].decode()
        offset += size
        count: int = read_i32_be(frame, offset)
        offset += 4
        left -= count
        if not 0 <= count < _FEW or left < 0:
            return None
        partitions: list[FetchPartitionData] = []
        for _ in range(count):
            index: int = read_i32_be(frame, offset)
            offset += 4
            epoch: int = -1
            if version >= 9:
                epoch = read_i32_be(frame, offset)
                offset += 4
            fetch_offset: int = read_i64_be(frame, offset)
            offset += 8 if version < 5 else 16  # the log start offset of a follower
            partitions.append(FetchPartitionData(index, fetch_offset, read_i32_be(frame, offset), epoch, -1))
            offset += 4
        topics.append(FetchTopicData(name, NO_TOPIC_ID, partitions))
    forgotten: list[ForgottenTopic] = []
    rack_id = ""
    if version >= 7:
        number = read_i32_be(frame, offset)
        offset += 4
        if not 0 <= number < _FEW:
            return None
        for _ in range(number):
            size = read_i16_be(frame, offset)
            offset += 2
            if size < 0 or offset + size > len(frame):
                return None
            name = frame[offset : offset + size].decode()
            offset += size
            count = read_i32_be(frame, offset)
            left -= count
            if not 0 <= count < _FEW or left < 0:
                return None
            forgotten.append(ForgottenTopic(name, NO_TOPIC_ID, _indexes(frame, offset + 4, count)))
            offset += 4 + 4 * count
    if version >= 11:
        size = read_i16_be(frame, offset)
        offset += 2
        if size < 0 or offset + size > len(frame):
            return None
        rack_id = frame[offset : offset + size].decode()
    return FetchRequest(
        replica_id, -1, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics,
        forgotten, rack_id,
    )  # fmt: skip


def _read_flexible(version: int, frame: bytes, offset: int) -> FetchRequest | None:
    """Read versions 12 and later: compact lengths and counts, which are one too large, and a tagged section behind
    every struct."""
    replica_id: int = -1
    if version < 15:
        replica_id = read_i32_be(frame, offset)
        offset += 4
    max_wait_ms: int = read_i32_be(frame, offset)
    min_bytes: int = read_i32_be(frame, offset + 4)
    max_bytes: int = read_i32_be(frame, offset + 8)
    isolation_level = _signed_byte(frame[offset + 12])
    session_id: int = read_i32_be(frame, offset + 13)
    session_epoch: int = read_i32_be(frame, offset + 17)
    number: int = frame[offset + 21]
    offset += 22
    if not 0 < number <= _FEW:
        return None
    left: int = _MANY
    topics: list[FetchTopicData] = []
    for _ in range(number - 1):
        name = ""
        topic_id = NO_TOPIC_ID
        if version >= 13:
            topic_id = _sixteen_bytes(frame, offset)
            offset += 16
        else:
            size: int = frame[offset]
            if not 0 < size < 128 or offset + size > len(frame):
                return None
            name = frame[offset + 1 : offset + size].decode()
            offset += size
        count: int = frame[offset]
        offset += 1
        left -= count - 1
        if not 0 < count <= _FEW or left < 0:
            return None
        partitions: list[FetchPartitionData] = []
        for _ in range(count - 1):
            index: int = read_i32_be(frame, offset)
            epoch: int = read_i32_be(frame, offset + 4)
            fetch_offset: int = read_i64_be(frame, offset + 8)
            last_epoch: int = read_i32_be(frame, offset + 16)
            # In between is the log start offset of a follower.
            partition_max_bytes: int = read_i32_be(frame, offset + 28)
            partitions.append(FetchPartitionData(index, fetch_offset, partition_max_bytes, epoch, last_epoch))
            if frame[offset + 32] != 0:
                return None
            offset += 33
        if frame[offset] != 0:
            return None
        offset += 1
        topics.append(FetchTopicData(name, topic_id, partitions))
    number = frame[offset]
    offset += 1
    if not 0 < number <= _FEW:
        return None
    forgotten: list[ForgottenTopic] = []
    for _ in range(number - 1):
        name = ""
        topic_id = NO_TOPIC_ID
        if version >= 13:
            topic_id = _sixteen_bytes(frame, offset)
            offset += 16
        else:
            size = frame[offset]
            if not 0 < size < 128 or offset + size > len(frame):
                return None
            name = frame[offset + 1 : offset + size].decode()
            offset += size
        count = frame[offset]
        left -= count - 1
        if not 0 < count <= _FEW or left < 0:
            return None
        forgotten.append(ForgottenTopic(name, topic_id, _indexes(frame, offset + 1, count - 1)))
        offset += 1 + 4 * (count - 1)
        if frame[offset] != 0:
            return None
        offset += 1
    size = frame[offset]
    if not 0 < size < 128 or offset + size > len(frame):
        return None
    rack_id = "" if size == 1 else frame[offset + 1 : offset + size].decode()
    if frame[offset + size] != 0:
        return None
    return FetchRequest(
        replica_id, -1, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics,
        forgotten, rack_id,
    )  # fmt: skip


def _signed_byte(value: int) -> int:
    return value - 256 if value > 127 else value


def _sixteen_bytes(frame: bytes, offset: int) -> bytes:
    if offset + 16 > len(frame):
        raise IndexError
    return frame[offset : offset + 16]


def _indexes(frame: bytes, offset: int, count: int) -> list[int]:
    indexes: list[int] = []
    for _ in range(count):
        indexes.append(read_i32_be(frame, offset))
        offset += 4
    return indexes
