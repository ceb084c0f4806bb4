"""Measured work in slices."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from fakebroker.protocol.slices import Slices

T = TypeVar("T")


def count_slices(slices: Slices[T]) -> tuple[T, int]:
    """Return the result, and how many slices it took."""
    count = 1
    while True:
        try:
            next(slices)
        except StopIteration as end:
            return end.value, count
        count += 1


def most_calls_of_a_slice(begin: Callable[[], Slices[Any] | None]) -> int:
    """Do all slices of what `begin` begins. Return how many functions the longest one called, those of C included."""
    calls = most = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    def counted(step: Callable[[], T]) -> T:
        nonlocal calls, most
        calls = 0
        sys.setprofile(count)
        try:
            return step()
        finally:
            sys.setprofile(None)
            most = max(most, calls)

    slices = counted(begin)
    if slices is not None:
        try:
            while True:
                counted(slices.__next__)
        except StopIteration:
            pass
    return most


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions some work called, those of C included."""

    def begin() -> None:
        work()

    return most_calls_of_a_slice(begin)
