"""A reader of Produce requests, versions 3 to 13, by hand.

The general reader (codec/decoder.py) makes an object of each struct, and reports errors. This module makes one object
for a partition, and reports none: unusual requests (a null, a tagged field, a long count, bytes that end) are left to
the general reader. A request of one record of 100 B, v7, takes 1 700 instructions, compiled.

The beginning of a large frame is read like any other. If records reach beyond that, reading continues behind them, at
the frame's end; the frame is never joined. `python -m benchmarks sink` shows the savings.

tests/protocol/test_produce_request_properties.py and test_large_produce_properties.py tie it to the general reader.

Source   clients/src/main/resources/common/message/ProduceRequest.json @ 4.2
"""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from librt.strings import read_i16_be, read_i32_be
from mypy_extensions import mypyc_attr

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.messages import decode_request, decode_request_in_slices
from fakebroker.protocol.plain_batch import is_plain
from fakebroker.protocol.slices import Slices, finish
from fakebroker.protocol.varint import decode_unsigned_varint

__all__ = [
    "PartitionProduceData",
    "ProduceRequest",
    "TopicProduceData",
    "read_by_hand",
    "read_produce_request",
    "read_produce_request_in_slices",
]

_PRODUCE: Final = 0
_MILLISECOND: Final = timedelta(milliseconds=1)

_FEW: Final = 127  # topics or partitions; other counts are left to the general reader
_PARTITIONS_OF_A_SLICE: Final = 128
_MANY: Final = 512  # partitions of all topics; more are left to the general reader, which works in slices
_LITTLE_BEHIND: Final = 65_536  # bytes behind the records of a large frame that are worth a copy
_NO_ID: Final = bytes(16)
_REMEMBERED_IDS: Final = 1_024


@mypyc_attr(acyclic=True, free_list_len=1)
class PartitionProduceData:
    """The records for one partition. `is_plain`: they are one plain batch (plain_batch.py), determined once."""

    __slots__ = ("index", "is_plain", "records")

    def __init__(self, index: int, records: bytes | None) -> None:
        self.index = index
        self.records = records
        self.is_plain = records is not None and is_plain(records)


@mypyc_attr(acyclic=True, free_list_len=1)
class TopicProduceData:
    """The partitions of one topic; it has a name up to v12 and an id from v13 on."""

    __slots__ = ("name", "partition_data", "topic_id")

    def __init__(self, name: str, topic_id: UUID | None, partition_data: list[PartitionProduceData]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data = partition_data


@mypyc_attr(acyclic=True, free_list_len=1)
class ProduceRequest:
    """The body of a Produce request. The timeout is in milliseconds."""

    __slots__ = ("acks", "timeout_ms", "topic_data", "transactional_id")

    def __init__(
        self, transactional_id: str | None, acks: int, timeout_ms: int, topic_data: list[TopicProduceData]
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data = topic_data


def read_produce_request(version: int, frame: bytes | LargeFrame, offset: int) -> ProduceRequest:
    """Read the body at the offset. Raises ProtocolError like `messages.decode_request`."""
    request = read_by_hand(version, frame, offset)
    if request is not None:
        return request
    whole = frame if isinstance(frame, bytes) else frame.join()
    return finish(_of_kio(version, decode_request(_PRODUCE, version, whole, offset)))


def read_produce_request_in_slices(
    version: int, frame: bytes | LargeFrame, offset: int, max_elements: int
) -> Slices[ProduceRequest]:
    """Read the body in slices, never by hand. Raises ProtocolError also for more topics, partitions and tags than
    `max_elements`."""
    whole = frame if isinstance(frame, bytes) else (yield from frame.join_in_slices())
    read = yield from decode_request_in_slices(_PRODUCE, version, whole, offset, max_elements)
    return (yield from _of_kio(version, read))


def read_by_hand(version: int, frame: bytes | LargeFrame, offset: int) -> ProduceRequest | None:
    """Read a request without nulls, tags and large counts. Return None for any other, and for a malformed one. A large
    frame has been taken out if the result is a request."""
    try:
        if isinstance(frame, bytes):
            return _read_flexible(version, frame, offset, None) if version >= 9 else _read_fixed(frame, offset, None)
        beginning = frame.beginning
        return (
            _read_flexible(version, beginning, offset, frame) if version >= 9 else _read_fixed(beginning, offset, frame)
        )
    except (IndexError, UnicodeDecodeError, ProtocolError):
        return None


def _read_fixed(frame: bytes, offset: int, large: LargeFrame | None) -> ProduceRequest | None:
    """Read versions 3 to 8: lengths and counts of fixed size, no tags."""
    end = len(frame)
    transactional_id: str | None = None
    size: int = read_i16_be(frame, offset)
    offset += 2
    if size >= 0:
        transactional_id = frame[offset : offset + size].decode()
        offset += size
    elif size != -1:
        return None
    acks: int = read_i16_be(frame, offset)
    timeout_ms: int = read_i32_be(frame, offset + 2)
    topics: int = read_i32_be(frame, offset + 6)
    offset += 10
    if not 0 <= topics < _FEW:
        return None
    rest: _Rest | None = None
    all_partitions: int = 0
    topic_data: list[TopicProduceData] = []
    for _ in range(topics):
        size = read_i16_be(frame, offset)
        offset += 2
        if size < 0:
            return None
        name = frame[offset : offset + size].decode()
        offset += size
        partitions: int = read_i32_be(frame, offset)
        offset += 4
        all_partitions += partitions
        if not 0 <= partitions < _FEW or all_partitions > _MANY:
            return None
        partition_data: list[PartitionProduceData] = []
        for _ in range(partitions):
            index: int = read_i32_be(frame, offset)
            size = read_i32_be(frame, offset + 4)
            offset += 8
            if size < 0:
                return None
            if offset + size > end:
                if large is None or rest is not None:
                    return None
                rest = _Rest(large, offset, offset + size, partition_data, index)
                frame, offset, end = rest.behind, 0, len(rest.behind)
                continue
            partition_data.append(PartitionProduceData(index, frame[offset : offset + size]))
            offset += size
        topic_data.append(TopicProduceData(name, None, partition_data))
    if rest is not None:
        rest.take()
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data)


def _read_flexible(version: int, frame: bytes, offset: int, large: LargeFrame | None) -> ProduceRequest | None:
    """Read versions 9 and later: compact lengths and counts, which are one too large, and a tagged section behind every
    struct."""
    end = len(frame)
    transactional_id: str | None = None
    size: int = frame[offset]
    offset += 1
    if size > 127:
        return None
    if size:
        transactional_id = frame[offset : offset + size - 1].decode()
        offset += size - 1
    acks: int = read_i16_be(frame, offset)
    timeout_ms: int = read_i32_be(frame, offset + 2)
    offset += 6
    topics = frame[offset]
    offset += 1
    if not 0 < topics <= _FEW:
        return None
    rest: _Rest | None = None
    all_partitions: int = 0
    topic_data: list[TopicProduceData] = []
    for _ in range(topics - 1):
        name = ""
        topic_id: UUID | None = None
        if version >= 13:
            raw_id = frame[offset : offset + 16]
            if raw_id != _NO_ID:
                topic_id = _uuid(raw_id)
            offset += 16
        else:
            size = frame[offset]
            if not 0 < size < 128:
                return None
            name = frame[offset + 1 : offset + size].decode()
            offset += size
        partitions: int = frame[offset]
        offset += 1
        all_partitions += partitions - 1
        if not 0 < partitions <= _FEW or all_partitions > _MANY:
            return None
        partition_data: list[PartitionProduceData] = []
        for _ in range(partitions - 1):
            index: int = read_i32_be(frame, offset)
            offset += 4
            size = frame[offset]
            offset += 1
            if size > 127:
                high: int = frame[offset]
                if high < 128:
                    size += (high - 1) << 7
                    offset += 1
                else:
                    size, offset = decode_unsigned_varint(frame, offset - 1)
            size -= 1
            if size < 0:
                return None
            if offset + size >= end:
                if large is None or rest is not None:
                    return None
                rest = _Rest(large, offset, offset + size, partition_data, index)
                frame, offset, end = rest.behind, 0, len(rest.behind)
            else:
                partition_data.append(PartitionProduceData(index, frame[offset : offset + size]))
                offset += size
            if frame[offset] != 0:
                return None
            offset += 1
        if frame[offset] != 0:
            return None
        offset += 1
        topic_data.append(TopicProduceData(name, topic_id, partition_data))
    if frame[offset] != 0:
        return None
    if rest is not None:
        rest.take()
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data)


class _Rest:
    """The rest of a large frame: the records that reach beyond its beginning, and the bytes `behind` them. The records
    are taken out last, because that releases the frame. They are copied once, to where the log keeps them."""

    __slots__ = ("_end", "_index", "_large", "_partition_data", "_place", "_start", "behind")

    def __init__(
        self, large: LargeFrame, start: int, end: int, partition_data: list[PartitionProduceData], index: int
    ) -> None:
        size = len(large) - end
        if not 0 <= size <= _LITTLE_BEHIND:
            raise IndexError
        self.behind = large.last(size)
        if len(self.behind) != size:
            raise IndexError
        self._large = large
        self._start = start
        self._end = end
        self._partition_data = partition_data
        self._place = len(partition_data)
        self._index = index
        partition_data.append(PartitionProduceData(index, None))

    def take(self) -> None:
        records = self._large.cut(self._start, self._end)
        self._partition_data[self._place] = PartitionProduceData(self._index, records)


@lru_cache(maxsize=_REMEMBERED_IDS)
def _uuid(raw: bytes) -> UUID:
    if len(raw) < 16:
        raise IndexError
    return UUID(bytes=raw)


def _of_kio(version: int, request: Any) -> Slices[ProduceRequest]:
    topic_data: list[TopicProduceData] = []
    read = 0
    for topic in request.topic_data:
        partition_data: list[PartitionProduceData] = []
        for partition in topic.partition_data:
            partition_data.append(PartitionProduceData(partition.index, partition.records))
            read += 1
            if read >= _PARTITIONS_OF_A_SLICE:
                read = 0
                yield
        topic_data.append(
            TopicProduceData(
                "" if version >= 13 else topic.name, topic.topic_id if version >= 13 else None, partition_data
            )
        )
        read += 1
    return ProduceRequest(request.transactional_id, request.acks, request.timeout // _MILLISECOND, topic_data)
