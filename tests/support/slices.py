"""Work that is done in slices, watched."""

from __future__ import annotations

from typing import TypeVar

from fakebroker.protocol.slices import Slices

T = TypeVar("T")


def count_slices(slices: Slices[T]) -> tuple[T, int]:
    """What comes of it, and how many slices it took."""
    count = 1
    while True:
        try:
            next(slices)
        except StopIteration as end:
            return end.value, count
        count += 1
