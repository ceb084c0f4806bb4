"""Which faults may fit a request, by its API key; those of Produce that name topics by these as well, and by the
partitions that they name, so that very many others cost next to nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from struct import error as StructError
from typing import Final, TypeVar, final
from uuid import UUID

from fakebroker.core.faults.armed import Armed
from fakebroker.protocol.headers import RequestHeader
from fakebroker.protocol.large_frame import LargeFrame

_PRODUCE: Final = 0
_NONE: Final[Sequence[Armed]] = ()
_FLEXIBLE: Final = 9
_BY_ID: Final = 13
_OLD_START: Final = Struct(">hhiiH")  # transactional id, acks, timeout, topics, and how long the first one's name is
_OLD_PARTITION: Final = Struct(">ii")
_PARTITION: Final = Struct(">bi")  # how many, and the first one
_COMPACT_ONE: Final = 2  # counts are one too large
_SHORT: Final = 127  # of a length that takes one byte
_ANY: Final = -1  # partition
Key = TypeVar("Key")


@final
class Index:
    """In the order in which they were installed."""

    def __init__(self, resolve: Callable[[UUID | None, str | None], tuple[UUID | None, str | None]]) -> None:
        self._by_key: dict[int, list[Armed]] = {}
        self._produce: dict[str, dict[int, list[Armed]]] = {}  # by topic and partition
        self._resolve = resolve

    @property
    def is_empty(self) -> bool:
        return not self._by_key and not self._produce

    def add(self, armed: Armed) -> None:
        when = armed.fault.when
        for key in armed.keys:
            if key == _PRODUCE and when.topic:
                for topic in when.topic:
                    for partition in when.partition or (_ANY,):
                        self._produce.setdefault(topic, {}).setdefault(partition, []).append(armed)
            else:
                self._by_key.setdefault(key, []).append(armed)

    def remove(self, armed: Armed) -> None:
        _take_out(self._by_key, armed)
        for topic in [topic for topic in armed.fault.when.topic if topic in self._produce]:
            _take_out(self._produce[topic], armed)
            if not self._produce[topic]:
                del self._produce[topic]

    def find(self, header: RequestHeader, frame: bytes | LargeFrame) -> Sequence[Armed]:
        """Those that may fit."""
        found = self._by_key.get(header.api_key, _NONE)
        if header.api_key != _PRODUCE or not self._produce:
            return found
        place = only_place(header.api_version, frame, header.body_offset) if isinstance(frame, bytes) else None
        if place is None:  # it may be any
            of_all = [faults for by_partition in self._produce.values() for faults in by_partition.values()]
            return self._sorted([found, *of_all])
        topic, partition = place
        name = topic if isinstance(topic, str) else self._resolve(topic, None)[1]
        by_partition = self._produce.get(name) if name else None
        if by_partition is None:
            return found
        for_all, for_one = by_partition.get(_ANY, _NONE), by_partition.get(partition, _NONE)
        return self._sorted([found, for_all, for_one]) if for_all or for_one else found

    def _sorted(self, found: Sequence[Sequence[Armed]]) -> Sequence[Armed]:
        return sorted({armed for faults in found for armed in faults}, key=lambda armed: armed.id)


def only_place(version: int, frame: bytes, offset: int) -> tuple[str | UUID, int] | None:
    """The topic, by name or id, and the partition of a Produce that is for one; None for any other, and for what is out
    of the ordinary: long names, and what cannot be read."""
    try:
        if version < _FLEXIBLE:
            size, _, _, topics, length = _OLD_START.unpack_from(frame, offset)
            if size > 0:
                offset += size
                _, _, _, topics, length = _OLD_START.unpack_from(frame, offset)
            offset += _OLD_START.size
            end = offset + length
            partitions, index = _OLD_PARTITION.unpack_from(frame, end)
            return None if topics != 1 or partitions != 1 else (frame[offset:end].decode(), index)
        size = frame[offset]
        offset += 6 + size if size else 7
        if size > _SHORT or frame[offset] != _COMPACT_ONE:
            return None
        size = 16 if version >= _BY_ID else frame[offset + 1]
        end = offset + 1 + size
        partitions, index = _PARTITION.unpack_from(frame, end)
        if partitions != _COMPACT_ONE:
            return None
        if version >= _BY_ID:
            return UUID(bytes=frame[offset + 1 : end]), index
        return None if size > _SHORT else (frame[offset + 2 : end].decode(), index)
    except (IndexError, ValueError, StructError):
        return None


def _take_out(faults_by: dict[Key, list[Armed]], armed: Armed) -> None:
    for key in [key for key, faults in faults_by.items() if armed in faults]:
        faults_by[key].remove(armed)
        if not faults_by[key]:
            del faults_by[key]
