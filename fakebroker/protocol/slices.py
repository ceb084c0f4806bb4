"""Long work in slices: a generator that yields wherever other work may have a turn.

Theory   Nothing in here waits, and one thread handles all requests. So long work yields where it can be interrupted,
         and its driver decides whether to interrupt it. The result is the same either way.
Units    a slice is some 200 us of work at most, as far as that can be known: a few hundred fields read, a few thousand
         records walked over, a few hundred KiB decompressed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from heapq import merge
from typing import Final, TypeVar

T = TypeVar("T")
Item = TypeVar("Item")

_ITEMS_OF_A_SLICE: Final = 128  # converting an item takes a few us
_SORTED_AT_ONCE: Final = 2_048  # texts
_MERGED_OF_A_SLICE: Final = 512

Slices = Generator[None, None, T]
"""Work with a result of type T; its driver asks for the next slice."""


def made_of(items: Iterable[Item], make: Callable[[Item], T]) -> Slices[list[T]]:
    """Convert each item."""
    made: list[T] = []
    for item in items:
        made.append(make(item))
        if len(made) % _ITEMS_OF_A_SLICE == 0:
            yield
    return made


def sorted_in_slices(texts: Sequence[str]) -> Slices[list[str]]:
    """Return the texts in order. A text that comes several times stays so."""
    runs: list[list[str]] = []
    for start in range(0, len(texts), _SORTED_AT_ONCE):
        runs.append(sorted(texts[start : start + _SORTED_AT_ONCE]))
        yield
    if len(runs) == 1:
        return runs[0]
    ordered: list[str] = []
    for text in merge(*runs):
        ordered.append(text)
        if len(ordered) % _MERGED_OF_A_SLICE == 0:
            yield
    return ordered


def least_in_slices(texts: Sequence[str], count: int, after: str | None) -> Slices[list[str]]:
    """Return the first `count` texts in order that come behind `after`, if that is given."""
    least: list[str] = []
    for start in range(0, len(texts), _SORTED_AT_ONCE):
        some = [text for text in texts[start : start + _SORTED_AT_ONCE] if after is None or text > after]
        least = sorted(least + some)[:count]
        yield
    return least


def begin(slices: Slices[None]) -> Slices[None] | None:
    """Do the first slice. Return the rest, or None if that was all."""
    try:
        next(slices)
    except StopIteration:
        return None
    return slices


def finish(slices: Slices[T]) -> T:
    """Do all the rest at once. Return its result."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: T = end.value
            return result
