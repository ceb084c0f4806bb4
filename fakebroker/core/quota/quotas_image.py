"""The client quotas that are set, in the order in which Kafka tells them: that of the hash tables of its metadata.

Theory   A request that changes something makes a new table of entities, and one of the quotas of each entity that it
         changes. A new table has room for as many keys as the old one had, and grows from there. The old keys come
         first, in the order of the old table. So in each slot keys stay in the order in which they came, until a table
         gets smaller than the one before. A search copies a table of those that have the first kind that is
         asked for, with the name if one is.
Source   metadata/.../image/{ClientQuotasDelta,ClientQuotaDelta}.java apply; clients/.../common/quota/
         ClientQuotaEntity.java hashCode @ 4.0; metadata/.../image/ClientQuotasImage.java @ 4.4 (read out of the
         released jars).
Differs  Kafka makes its tables anew when a broker starts, from a snapshot in the order of another table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from fakebroker.core.hash_order import (
    asked_capacity,
    copied_capacity,
    grown_capacity,
    hash_code,
    hash_map_order,
    in_slots,
    slot_of,
)
from fakebroker.protocol.slices import Slices, finish, made_of, sorted_in_slices

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"

_KINDS: Final = (CLIENT_ID, USER, IP)
_ENTRIES_OF_A_SLICE: Final = 500


class ClientQuotaEntity(NamedTuple):
    """What a quota is for: (kind, name), each kind once, in one order whatever order they were asked in."""

    entries: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, entries: Iterable[tuple[str, str | None]]) -> ClientQuotaEntity:
        """Of a kind that comes twice the last name counts."""
        return finish(cls.of_in_slices(list(entries)))

    @classmethod
    def of_in_slices(cls, entries: Sequence[tuple[str, str | None]]) -> Slices[ClientQuotaEntity]:
        """The same where there may be very many kinds: then a request is wrong, and named in the answer."""
        named: dict[str, str | None] = {}
        unknown: list[str] = []
        for number, (kind, name) in enumerate(entries, 1):
            if kind not in named and kind not in _KINDS:
                unknown.append(kind)
            named[kind] = name
            if number % _ENTRIES_OF_A_SLICE == 0:
                yield
        known = [kind for kind in _KINDS if kind in named]
        ordered = [*known, *((yield from sorted_in_slices(unknown)) if unknown else ())]
        return cls(tuple((yield from made_of(ordered, lambda kind: (kind, named[kind])))))

    @property
    def hash_code(self) -> int:
        """As of Java, without a sign."""
        return finish(self.hash_code_in_slices())

    def hash_code_in_slices(self) -> Slices[int]:
        """The same in slices."""
        code = 31
        for number, (kind, name) in enumerate(self.entries, 1):
            code += hash_code(kind) ^ (0 if name is None else hash_code(name))
            if number % _ENTRIES_OF_A_SLICE == 0:
                yield
        return code & 0xFFFFFFFF

    def __str__(self) -> str:
        entries = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in self.entries)
        return f"ClientQuotaEntity(entries={{{entries}}})"


class Entry(NamedTuple):
    """An entity that has quotas, in the order of their table."""

    entity: ClientQuotaEntity
    quotas: Mapping[str, float]
    hash_code: int


class ClientQuotasImage:
    """What is changed counts at once. Its place among the others is known once it is published."""

    def __init__(self) -> None:
        self._entries: dict[ClientQuotaEntity, Entry] = {}  # those of one slot in their order there
        self._capacity = self._size = 0  # of the table that was published last
        self._changed: dict[ClientQuotaEntity, bool] = {}  # since then, and whether it is new

    def of(self, entity: ClientQuotaEntity) -> Mapping[str, float]:
        """The quotas of an entity."""
        entry = self._entries.get(entity)
        return {} if entry is None else entry.quotas

    def __iter__(self) -> Iterator[Entry]:
        """In any order."""
        return iter(self._entries.values())

    def change(self, entity: ClientQuotaEntity, changes: Mapping[str, float | None]) -> None:
        """Set quotas of an entity, or remove them (None)."""
        before = self.of(entity)
        after = _changed(before, changes)
        if after == before:
            return
        self._changed.setdefault(entity, not before)
        if after:
            self._entries[entity] = Entry(entity, after, entity.hash_code)
        else:
            del self._entries[entity]

    def publish(self) -> None:
        """A request that may have changed something is done."""
        if not self._changed:
            return
        capacity = grown_capacity(len(self._entries), asked_capacity(self._size))
        # A key that is computed if it is absent comes first in its slot, and makes a table grow one key later.
        changed = list(reversed(self._changed))
        changed = in_slots(changed, _code_of, grown_capacity(len(changed) - 1, 16))
        new = [entity for entity in changed if self._changed[entity]]
        added = [self._entries.pop(entity) for entity in new if entity in self._entries]
        if capacity < self._capacity:
            old = in_slots(self._entries.values(), _hash_code, self._capacity)
            self._entries = {entry.entity: entry for entry in old}
        self._entries |= {entry.entity: entry for entry in added}
        self._capacity, self._size = capacity, len(self._entries)
        self._changed = {}

    def found(self, exact: Mapping[str, str | None], kinds: Collection[str]) -> Slices[list[Entry]]:
        """The entries in the order in which Kafka finds them by names of some kinds, by other kinds, or without either.
        All that are sought are among them."""
        entries = yield from _table(list(self._entries.values()), self._capacity)
        if not exact and not kinds:
            return entries
        kind = hash_map_order(exact or kinds)[0]
        selected = []
        for number, entry in enumerate(entries, 1):
            named = dict(entry.entity.entries)
            if kind in named and (not exact or named[kind] == exact[kind]):
                selected.append(entry)
            if number % _ENTRIES_OF_A_SLICE == 0:
                yield
        selected = yield from _table(selected, grown_capacity(len(selected), 16))
        return (yield from _table(selected, copied_capacity(len(selected))))


def _table(entries: Collection[Entry], capacity: int) -> Slices[list[Entry]]:
    """The entries of a table of that capacity."""
    slots: dict[int, list[Entry]] = {}
    for number, entry in enumerate(entries, 1):
        slots.setdefault(slot_of(entry.hash_code, capacity), []).append(entry)
        if number % _ENTRIES_OF_A_SLICE == 0:
            yield
    return [entry for slot in sorted(slots) for entry in slots[slot]]


def _hash_code(entry: Entry) -> int:
    return entry.hash_code


def _code_of(entity: ClientQuotaEntity) -> int:
    return entity.hash_code


def _changed(before: Mapping[str, float], changes: Mapping[str, float | None]) -> dict[str, float]:
    """The quotas of an entity after these changes, in the order of a table that is made for them."""
    after = {key: value for key, value in {**before, **changes}.items() if value is not None}
    added = [key for key in (*before, *hash_map_order(changes)) if key in after]
    return {key: after[key] for key in hash_map_order(added, asked_capacity(len(before)))}
