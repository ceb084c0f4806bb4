"""Long work in slices: a generator that yields wherever somebody else may have a turn.

Theory   Nothing in here waits, and whoever handles requests is one thread. So what may take long says where it can be
         interrupted, and whoever drives it decides whether it is. What comes of it is the same either way.
Units    a slice is some 200 us of work at most, as far as one can tell: a few hundred fields read, a few thousand
         records walked over, a few hundred KiB decompressed.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

Slices = Generator[None, None, T]
"""Work that ends with a T; whoever drives it asks for the next slice."""


def begin(slices: Slices[None]) -> Slices[None] | None:
    """Do the first slice; what is left, or None if that was all."""
    try:
        next(slices)
    except StopIteration:
        return None
    return slices


def finish(slices: Slices[T]) -> T:
    """Do all that is left of it at once."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: T = end.value
            return result
