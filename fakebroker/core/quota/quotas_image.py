"""The client quotas in the order in which Kafka returns them: that of the hash tables of its metadata.

Theory   A request that changes something makes a new table of entities, and one of the quotas of each changed entity. A
         new table has room for as many keys as the old one had, and grows from there. The old keys come first, in the
         order of the old table. So in each slot keys stay in the order in which they came, until a table is smaller
         than the one before. A search copies those entities into a table that have the first requested kind, with the
         requested name if there is one.
Source   metadata/.../image/{ClientQuotasDelta,ClientQuotaDelta}.java apply; clients/.../common/quota/
         ClientQuotaEntity.java hashCode @ 4.0; metadata/.../image/ClientQuotasImage.java @ 4.4 (read out of the
         released jars).
Differs  Kafka rebuilds its tables when a broker starts, from a snapshot in the order of another table.
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
    """The entity of a quota: (kind, name), each kind once, in one order whatever the order of the request."""

    entries: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, entries: Iterable[tuple[str, str | None]]) -> ClientQuotaEntity:
        """Return the entity of these entries. Of a kind that occurs twice the last name counts."""
        return finish(cls.of_in_slices(list(entries)))

    @classmethod
    def of_in_slices(cls, entries: Sequence[tuple[str, str | None]]) -> Slices[ClientQuotaEntity]:
        """Return the entity in slices, for very many kinds: such a request is invalid, and its error names the
        entity."""
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
        """Java's hash code, unsigned."""
        return finish(self.hash_code_in_slices())

    def hash_code_in_slices(self) -> Slices[int]:
        """Return the hash code in slices, for very many kinds: such a request is invalid, and its error names the
        entity."""
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
    """An entity with quotas, in the order of their table."""

    entity: ClientQuotaEntity
    quotas: Mapping[str, float]
    hash_code: int


class ClientQuotasImage:
    """The present quotas. A change counts at once; its place in the order is fixed when it is published."""

    def __init__(self) -> None:
        self._entries: dict[ClientQuotaEntity, Entry] = {}  # those of one slot in their order there
        self._capacity = self._size = 0  # of the table that was published last
        self._changed: dict[ClientQuotaEntity, bool] = {}  # since then; True for a new entity

    def of(self, entity: ClientQuotaEntity) -> Mapping[str, float]:
        """Return the quotas of an entity."""
        entry = self._entries.get(entity)
        return {} if entry is None else entry.quotas

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries in any order."""
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
        """Publish the changes of a request."""
        if not self._changed:
            return
        capacity = grown_capacity(len(self._entries), asked_capacity(self._size))
        # A key that is computed if absent comes first in its slot, and makes a table grow one key later.
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
        """Return entries in the order in which Kafka finds them by names of some kinds, by other kinds, or without
        either. They include all that match."""
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
    """Return the entries in the order of a table of that capacity."""
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
    """Return the quotas of an entity after these changes, in the order of the new table."""
    after = {key: value for key, value in {**before, **changes}.items() if value is not None}
    added = [key for key in (*before, *hash_map_order(changes)) if key in after]
    return {key: after[key] for key in hash_map_order(added, asked_capacity(len(before)))}
