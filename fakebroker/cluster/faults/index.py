"""An index of the faults that may match a request.

Theory   Faults are found by API key. Faults of Produce that name topics are found by topic and partition, too, so that
         thousands of faults for other topics cost almost nothing.
         The dispatcher looks up each request, so this module is compiled. The key of a Produce is the bytes of its
         frame from the list of topics to the index of the first partition. They are decoded only if they are new.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final, TypeVar, final
from uuid import UUID

from fakebroker.core.faults.armed import Armed
from fakebroker.protocol.headers import RequestHeader
from fakebroker.protocol.large_frame import LargeFrame

_PRODUCE: Final = 0
_FLEXIBLE: Final = 9
_BY_ID: Final = 13
_ONE: Final = b"\0\0\0\1"
_NEGATIVE: Final = 0x8000  # this and above: negative as an i16
_COMPACT_ONE: Final = 2  # Compact counts are one too large.
_SHORT: Final = 127  # the largest length that takes one byte
_ID: Final = 16
_INDEX: Final = Struct(">i")
_INDEX_BYTES: Final = 4
_LONGEST_NAME: Final = 249
_ANY: Final = b""  # the key of faults for any partition
_ANYWHERE: Final = (b"", b"")
_KEPT: Final = 10_000
Key = TypeVar("Key")


@final
class Index:
    """Faults in the order in which they were installed. `asks_always`: the engine is also asked if no fault matches."""

    def __init__(self, resolve: Callable[[UUID | None, str | None], tuple[UUID | None, str | None]]) -> None:
        self.asks_always = False
        self._by_key: dict[int, list[Armed]] = {}
        self._produce: dict[bytes, dict[bytes, list[Armed]]] = {}  # by topic and partition
        self._resolve = resolve
        self._none: list[Armed] = []
        self._known: dict[bytes, list[Armed]] = {}  # by place, for topics by name
        self._known_by_id: dict[bytes, list[Armed]] = {}  # never stale, since the name of an id never changes
        # The result for the last Produce. The next one is often for the same partition, and comparing the bytes of its
        # place is cheaper than hashing them.
        self._last_known: dict[bytes, list[Armed]] | None = None
        self._last_place = b""
        self._last_found = self._none

    @property
    def is_empty(self) -> bool:
        return not self._by_key and not self._produce

    def add(self, armed: Armed) -> None:
        self._forget()
        when = armed.fault.when
        for key in armed.keys:
            if key == _PRODUCE and when.topic:
                partitions = [_INDEX.pack(partition) for partition in when.partition] or [_ANY]
                for topic in when.topic:
                    for partition in partitions:
                        self._produce.setdefault(topic.encode(), {}).setdefault(partition, []).append(armed)
            else:
                self._by_key.setdefault(key, []).append(armed)

    def remove(self, armed: Armed) -> None:
        self._forget()
        _take_out(self._by_key, armed)
        for topic in {topic.encode() for topic in armed.fault.when.topic} & self._produce.keys():
            _take_out(self._produce[topic], armed)
            if not self._produce[topic]:
                del self._produce[topic]

    def find(self, header: RequestHeader, frame: bytes | LargeFrame) -> list[Armed]:
        """Return the faults that may match this request."""
        key = header.api_key
        if key != _PRODUCE or not self._produce:
            return self._by_key.get(key, self._none)
        if not isinstance(frame, bytes):
            return self._any_of(_ANYWHERE)
        version = header.api_version
        start, end = place_in(version, frame, header.body_offset)
        place = frame[start:end]
        known = self._known if version < _BY_ID else self._known_by_id
        if known is self._last_known and place == self._last_place:
            return self._last_found
        faults = known.get(place)
        if faults is None:
            return self._look_up(version, place, known)
        self._last_known, self._last_place, self._last_found = known, place, faults
        return faults

    def _look_up(self, version: int, place: bytes, known: dict[bytes, list[Armed]]) -> list[Armed]:
        topic, partition = only_place(version, place)
        if topic and version >= _BY_ID:
            topic = (self._resolve(UUID(bytes=topic), None)[1] or "").encode()
            if not topic:  # no such topic, so no fault by name matches
                return self._by_key.get(_PRODUCE, self._none)
        if len(known) >= _KEPT:
            known.clear()
        faults = known[place] = self._any_of((topic, partition))
        return faults

    def _any_of(self, place: tuple[bytes, bytes]) -> list[Armed]:
        topic, partition = place
        matching = [self._by_key.get(_PRODUCE, self._none)]
        if not topic:
            matching += [faults for by_partition in self._produce.values() for faults in by_partition.values()]
        elif topic in self._produce:
            by_partition = self._produce[topic]
            matching += [by_partition.get(_ANY, self._none), by_partition.get(partition, self._none)]
        return sorted({armed for faults in matching for armed in faults}, key=lambda armed: armed.id)

    def _forget(self) -> None:
        self._known.clear()
        self._known_by_id.clear()
        self._last_known = None


def place_in(version: int, frame: bytes, offset: int) -> tuple[int, int]:
    """Return the start and end of the bytes that `only_place` reads, if a frame of Produce is for one partition of one
    topic. Return (0, 0) for the unusual: long names, and frames that cannot be read."""
    try:
        if version < _FLEXIBLE:
            size = frame[offset] << 8 | frame[offset + 1]
            offset += 8 if size >= _NEGATIVE else 8 + size  # behind transactional id, acks and timeout
            size = frame[offset + 4] << 8 | frame[offset + 5]
            end = offset + 6 + size + 4 + _INDEX_BYTES
        else:
            size = frame[offset]
            offset += 6 + size if size else 7
            if size > _SHORT:
                return 0, 0
            size = _ID if version >= _BY_ID else frame[offset + 1]  # a name's compact size includes its own byte
            end = offset + 1 + size + 1 + _INDEX_BYTES
    except IndexError:
        return 0, 0
    return (offset, end) if size <= _LONGEST_NAME and end <= len(frame) else (0, 0)


def only_place(version: int, place: bytes) -> tuple[bytes, bytes]:
    """Return the topic (name, or from version 13 on id) and the partition (i32) of a Produce that is for one. Both are
    empty for any other Produce."""
    index = len(place) - _INDEX_BYTES
    if version < _FLEXIBLE:
        if place[:4] != _ONE or place[index - 4 : index] != _ONE:
            return _ANYWHERE
        return place[6 : index - 4], place[index:]
    if not place or place[0] != _COMPACT_ONE or place[index - 1] != _COMPACT_ONE:
        return _ANYWHERE
    if version < _BY_ID and not 1 < place[1] <= _SHORT:
        return _ANYWHERE
    return place[1 if version >= _BY_ID else 2 : index - 1], place[index:]


def _take_out(faults_by: dict[Key, list[Armed]], armed: Armed) -> None:
    for key in [key for key, faults in faults_by.items() if armed in faults]:
        faults_by[key].remove(armed)
        if not faults_by[key]:
            del faults_by[key]
