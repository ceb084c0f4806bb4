"""A histogram of durations."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

BOUNDS_MS: Final = (
    0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000,
)  # fmt: skip
"""Bucket bounds in milliseconds, each included: a broker responds in less than one, a parked request takes up to 30
s."""


class Histogram:
    """Counts and the sum of durations, in milliseconds."""

    __slots__ = ("_counts", "sum_ms")

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS_MS) + 1)
        self.sum_ms = 0.0

    def observe(self, ms: float) -> None:
        """Count a duration."""
        self._counts[bisect_left(BOUNDS_MS, ms)] += 1
        self.sum_ms += ms

    def buckets(self) -> list[tuple[str, float]]:
        """Return (bound, number of durations up to it), as Prometheus has them."""
        cumulative: list[tuple[str, float]] = []
        total = 0
        for bound, count in zip((*map(str, BOUNDS_MS), "+Inf"), self._counts, strict=True):
            total += count
            cumulative.append((bound, total))
        return cumulative
