"""Read a large Produce request without putting its frame together: the records are copied once, from where they were
received to where the log keeps them.

It takes what a producer of large batches sends, one partition of one topic. The rest of the request, a few dozen bytes,
is read by `produce_reader`, which is given it with an empty record set and has the say in everything; whatever does not
look like that is put together and goes the general way. `python -m benchmarks sink` shows what it saves.

tests/protocol/test_large_produce_properties.py ties the two together.

Source   clients/src/main/resources/common/message/ProduceRequest.json @ 4.2
"""

from __future__ import annotations

from typing import Final

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.produce_reader import ProduceRequest, read_plain
from fakebroker.protocol.varint import decode_unsigned_varint

__all__ = ["read_large_produce"]

_ACKS_AND_TIMEOUT: Final = 6
_TAGS_BEHIND: Final = 3  # of the partition, of the topic, of the request: none in each


def read_large_produce(version: int, frame: LargeFrame, offset: int) -> ProduceRequest | None:
    """The body that starts at the offset; None if it has to be read the general way. If it is a request, it has
    been taken out of the frame."""
    beginning = frame.beginning
    try:
        if version >= 9:
            size_at = _index_end(version, beginning, offset)
            size, start = decode_unsigned_varint(beginning, size_at)
            end = start + size - 1
            if size < 1 or end + _TAGS_BEHIND != len(frame) or frame.last(_TAGS_BEHIND) != bytes(_TAGS_BEHIND):
                return None
            rest = beginning[:size_at] + b"\x01" + bytes(_TAGS_BEHIND)
        else:
            size_at = _old_index_end(beginning, offset)
            start = size_at + 4
            end = start + int.from_bytes(beginning[size_at:start], "big")
            if end != len(frame):
                return None
            rest = beginning[:size_at] + b"\0\0\0\0"
    except (IndexError, ProtocolError):
        return None
    request = read_plain(version, rest, offset)
    if request is None or len(request.topic_data) != 1 or len(request.topic_data[0].partition_data) != 1:
        return None
    request.topic_data[0].partition_data[0].records = frame.cut(start, end)
    return request


def _old_index_end(data: bytes, offset: int) -> int:
    """Behind the index of the first partition of the first topic, in versions 3 to 8."""
    size = int.from_bytes(data[offset : offset + 2], "big", signed=True)
    offset += 2 + max(size, 0) + _ACKS_AND_TIMEOUT + 4
    size = int.from_bytes(data[offset : offset + 2], "big")
    return offset + 2 + size + 4 + 4


def _index_end(version: int, data: bytes, offset: int) -> int:
    """The same in versions 9 and later, where a size is one too large and one byte long in all that is plain."""
    offset += max(data[offset], 1) + _ACKS_AND_TIMEOUT + 1
    offset += 16 if version >= 13 else max(data[offset], 1)
    return offset + 1 + 4
