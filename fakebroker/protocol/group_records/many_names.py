"""The names of the topics to which a member is subscribed, of which there may be very many.

Theory   A member may name hundreds of thousands of topics, most of which may not exist. A group compares them, counts
         them and writes them into a record, in one go. So very many names are sorted and encoded once, in slices,
         before the group sees them: to compare them is to compare bytes, and to encode them is to copy them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final, final

from fakebroker.protocol.slices import Slices, finish, sorted_in_slices
from fakebroker.protocol.varint import encode_unsigned_varint

MANY: Final = 256  # fewer are counted one by one

_OF_A_SLICE: Final = 256
_SHARDS: Final = 256  # small sets: their tables grow quickly


@final
class ManyNames(Collection[str]):
    """A set of more than MANY names, which are iterated over in their order.

    encoded  the names as the compact array of strings that they are in a record
    """

    __slots__ = ("_ordered", "_shards", "encoded")

    def __init__(self, ordered: list[str], shards: list[set[str]], encoded: bytes) -> None:
        self._ordered = ordered
        self._shards = shards
        self.encoded = encoded

    def __len__(self) -> int:
        return len(self._ordered)

    def __contains__(self, name: object) -> bool:
        return name in self._shards[hash(name) % _SHARDS]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ordered)

    def __eq__(self, other: object) -> bool:
        return self.encoded == other.encoded if isinstance(other, ManyNames) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.encoded)


Names = frozenset[str] | ManyNames


def names_in_slices(names: Sequence[str]) -> Slices[Names]:
    """Return the set of the names; as ManyNames, if there are so many different ones."""
    ordered: list[str] = []
    shards: list[set[str]] = [set() for _ in range(_SHARDS)]
    encoded = bytearray()
    last = None
    for number, name in enumerate((yield from sorted_in_slices(names)), 1):
        if name != last:
            last = name
            ordered.append(name)
            shards[hash(name) % _SHARDS].add(name)
            text = name.encode()
            encoded += encode_unsigned_varint(len(text) + 1)
            encoded += text
        if number % _OF_A_SLICE == 0:
            yield
    if len(ordered) <= MANY:
        return frozenset(ordered)
    return ManyNames(ordered, shards, encode_unsigned_varint(len(ordered) + 1) + encoded)


def as_names(names: Collection[str]) -> Names:
    """Return the set of the names, which may be one already; very many take long."""
    if isinstance(names, ManyNames):
        return names
    return finish(names_in_slices(list(names))) if len(names) > MANY else frozenset(names)


def in_order(names: Names) -> Sequence[str]:
    return list(names) if isinstance(names, ManyNames) else sorted(names)
