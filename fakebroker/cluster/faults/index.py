"""Which faults may fit a request, by its API key; those of Produce that name topics by these as well, and by the
partitions that they name, so that very many others cost next to nothing.

Theory   The dispatcher asks for each request, so this is compiled, and compares bytes of the frame: a topic's name is
         looked up as it stands there, and so is a partition's index.
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
_NEGATIVE: Final = 0x8000  # and above, of an i16
_COMPACT_ONE: Final = 2  # counts are one too large
_SHORT: Final = 127  # of a length that takes one byte
_INDEX: Final = Struct(">i")
_ANY: Final = b""  # partition
_ANYWHERE: Final = (b"", b"")
_KEPT_IDS: Final = 10_000
Key = TypeVar("Key")


@final
class Index:
    """In the order in which they were installed. Who `asks_always` wants to be asked where nothing fits, too."""

    def __init__(self, resolve: Callable[[UUID | None, str | None], tuple[UUID | None, str | None]]) -> None:
        self.asks_always = False
        self._by_key: dict[int, list[Armed]] = {}
        self._produce: dict[bytes, dict[bytes, list[Armed]]] = {}  # by topic and partition
        self._resolve = resolve
        self._names: dict[bytes, bytes] = {}  # of topics, by id: an id has one name for ever
        self._none: list[Armed] = []

    @property
    def is_empty(self) -> bool:
        return not self._by_key and not self._produce

    def add(self, armed: Armed) -> None:
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
        _take_out(self._by_key, armed)
        for topic in {topic.encode() for topic in armed.fault.when.topic} & self._produce.keys():
            _take_out(self._produce[topic], armed)
            if not self._produce[topic]:
                del self._produce[topic]

    def find(self, header: RequestHeader, frame: bytes | LargeFrame) -> list[Armed]:
        """Those that may fit."""
        found = self._by_key.get(header.api_key, self._none)
        if header.api_key != _PRODUCE or not self._produce:
            return found
        version = header.api_version
        topic, partition = _ANYWHERE
        if isinstance(frame, bytes):
            topic, partition = only_place(version, frame, header.body_offset)
        if not topic:
            of_all = [faults for by_partition in self._produce.values() for faults in by_partition.values()]
            return _sorted([found, *of_all])
        if version >= _BY_ID:
            topic = self._name_of(topic)
        by_partition = self._produce.get(topic)
        if by_partition is None:
            return found
        for_all, for_one = by_partition.get(_ANY), by_partition.get(partition)
        if for_all is None and for_one is None:
            return found
        return _sorted([found, for_all or self._none, for_one or self._none])

    def _name_of(self, topic_id: bytes) -> bytes:
        """Empty if no topic has it: then no fault by its name fits."""
        name = self._names.get(topic_id)
        if name is None:
            name = (self._resolve(UUID(bytes=topic_id), None)[1] or "").encode()
            if name:
                if len(self._names) >= _KEPT_IDS:
                    self._names.clear()
                self._names[topic_id] = name
        return name


def only_place(version: int, frame: bytes, offset: int) -> tuple[bytes, bytes]:
    """The topic, by name or, from version 13 on, id, and the partition (i32) of a Produce that is for one, as they
    stand in its frame. Both are empty for any other, and for what is out of the ordinary: long names, and what cannot
    be read."""
    try:
        if version < _FLEXIBLE:
            size = frame[offset] << 8 | frame[offset + 1]
            offset += 8 if size >= _NEGATIVE else 8 + size  # and acks and timeout
            start = offset + 6
            end = start + (frame[offset + 4] << 8 | frame[offset + 5])
            if frame[offset : offset + 4] != _ONE or frame[end : end + 4] != _ONE:
                return _ANYWHERE
            place = frame[start:end], frame[end + 4 : end + 8]
        else:
            size = frame[offset]
            offset += 6 + size if size else 7
            if size > _SHORT or frame[offset] != _COMPACT_ONE:
                return _ANYWHERE
            start, size = offset + 1, 16
            if version < _BY_ID:
                start, size = start + 1, frame[start] - 1
                if not 0 < size < _SHORT:
                    return _ANYWHERE
            end = start + size
            if frame[end] != _COMPACT_ONE:
                return _ANYWHERE
            place = frame[start:end], frame[end + 1 : end + 5]
    except IndexError:
        return _ANYWHERE
    return place if len(place[1]) == _INDEX.size else _ANYWHERE


def _sorted(found: list[list[Armed]]) -> list[Armed]:
    return sorted({armed for faults in found for armed in faults}, key=lambda armed: armed.id)


def _take_out(faults_by: dict[Key, list[Armed]], armed: Armed) -> None:
    for key in [key for key, faults in faults_by.items() if armed in faults]:
        faults_by[key].remove(armed)
        if not faults_by[key]:
            del faults_by[key]
