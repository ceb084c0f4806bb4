"""Produce requests as a client sends them, v3 to v13: every frame of valid traffic is made here.

Theory   v3 to v8 have lengths of fixed size, later ones compact lengths and tagged fields. From v13 on the topic's id
         replaces its name. Tests tie it to kio, byte for byte.
Source   clients/src/main/resources/common/message/ProduceRequest.json
Speed    by hand, since a simulation (`python -m benchmarks simulation`) sends thousands a second. A load prepares its
         frames on the cores on which it sends them
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final
from uuid import UUID

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.headers import encode_request_header
from fakebroker.protocol.varint import encode_unsigned_varint

PRODUCE: Final = 0
OLDEST: Final = 3
NEWEST: Final = 13
_FIRST_FLEXIBLE: Final = 9
FIRST_WITH_ID: Final = 13

_LENGTH: Final = Struct(">i")
_SHORT: Final = Struct(">h")
_ACKS_AND_TIMEOUT: Final = Struct(">hi")
_NO_TAGS: Final = b"\0"
_NULL: Final = -1

TopicData = tuple[str | UUID, Sequence[tuple[int, bytes | None]]]


def encode_produce_request(
    version: int,
    correlation_id: int,
    client_id: str | None,
    acks: int,
    timeout_ms: int,
    topics: Sequence[TopicData],
    transactional_id: str | None = None,
) -> bytes:
    """Return the whole frame, including its length: partitions and their records of each topic, by its name or (v13)
    its id.

    Raises ProtocolError for an unknown version, and for a name in place of an id, or the reverse.
    """
    if not OLDEST <= version <= NEWEST:
        raise ProtocolError(f"Produce has versions {OLDEST} to {NEWEST}, and not {version}.")
    is_flexible = version >= _FIRST_FLEXIBLE
    head = encode_request_header(PRODUCE, version, correlation_id, client_id, is_flexible)
    pieces = [b"", head, _text(transactional_id, is_flexible), _ACKS_AND_TIMEOUT.pack(acks, timeout_ms)]
    pieces.append(_count(len(topics), is_flexible))
    for topic, partitions in topics:
        if isinstance(topic, str) == (version >= FIRST_WITH_ID):
            raise ProtocolError(f"Produce v{version} has {'ids' if isinstance(topic, str) else 'names'} of topics.")
        pieces.append(_text(topic, is_flexible) if isinstance(topic, str) else topic.int.to_bytes(16, "big"))
        pieces.append(_count(len(partitions), is_flexible))
        for index, records in partitions:
            pieces.append(_LENGTH.pack(index))
            pieces.append(_count(_NULL if records is None else len(records), is_flexible))
            if records is not None:
                pieces.append(records)
            if is_flexible:
                pieces.append(_NO_TAGS)
        if is_flexible:
            pieces.append(_NO_TAGS)
    if is_flexible:
        pieces.append(_NO_TAGS)
    pieces[0] = _LENGTH.pack(sum([len(piece) for piece in pieces]))
    return b"".join(pieces)  # joined once, since records may be large


def by_topic(parts: Iterable[tuple[tuple[str, int], bytes | None]]) -> list[TopicData]:
    """Group partitions and their records by topic, in the order of first occurrence."""
    topics: dict[str, list[tuple[int, bytes | None]]] = {}
    for (topic, partition), records in parts:
        topics.setdefault(topic, []).append((partition, records))
    return list(topics.items())


def _count(count: int, is_flexible: bool) -> bytes:
    """Return the count of the elements of an array, or of bytes; -1 for null."""
    return encode_unsigned_varint(count + 1) if is_flexible else _LENGTH.pack(count)


def _text(text: str | None, is_flexible: bool) -> bytes:
    data = b"" if text is None else text.encode()
    size = _NULL if text is None else len(data)
    return (encode_unsigned_varint(size + 1) if is_flexible else _SHORT.pack(size)) + data
