"""Rows of results: what was measured of both sides, and how they compare.

A row has the medians of one run of both sides. Its ratio is above 1 when we are better, whatever the unit; None if one
side is missing, and then the note says why. `target` is what the ratio must reach, where something was promised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

LIMIT = "limit"  # the peer of a row that is held against a number instead of a broker
MORE_IS_BETTER = {"requests/s", "batches/s", "records/s", "transactions/s", "MB/s"}
LESS_IS_BETTER = {"us", "us CPU", "ms", "ms CPU", "MB", "KB", "bytes", "instructions", "in 1,000"}

Value = float | None


@dataclass(frozen=True)
class Row:
    work: str
    peer: str
    ours: Value
    theirs: Value
    unit: str
    ratio: Value
    spread: tuple[Value, Value] = (None, None)
    target: Value = None
    note: str = ""
    mb_s: tuple[Value, Value] = (None, None)  # where requests/s are also bytes

    def met(self) -> bool | None:
        """None if nothing was promised or nothing was measured."""
        return None if self.target is None or self.ratio is None else self.ratio >= self.target


def spread(samples: Sequence[float]) -> Value:
    """Return the range of the samples as a share of their median; None for fewer than two."""
    middle = median(samples)
    return round((max(samples) - min(samples)) / middle, 3) if len(samples) > 1 and middle else None


def compare(
    work: str,
    peer: str,
    unit: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    target: Value = None,
    note: str = "",
    request_bytes: float = 0,
) -> Row:
    """A row from the samples of both sides; no samples of theirs make a missing peer, for which `note` has the reason.

    `request_bytes` adds the MB/s of requests/s. With `peer` LIMIT, `theirs` is the one number that ours is held
    against, and the target is a ratio of 1.
    """
    if unit not in MORE_IS_BETTER | LESS_IS_BETTER:
        raise ValueError(f"{unit!r} is no unit of this report")
    if not ours or not theirs:
        mine = rounded(median(ours)) if ours else None
        return Row(work, peer, mine, None, unit, None, (None, None), target, note or "not measured")
    a, b = median(ours), median(theirs)
    better, worse = (a, b) if unit in MORE_IS_BETTER else (b, a)
    ratio = round(better / worse, 3) if worse else None
    if peer == LIMIT:
        target = 1.0
    mb_s = (rounded(a * request_bytes / 1e6), rounded(b * request_bytes / 1e6)) if request_bytes else (None, None)
    return Row(work, peer, rounded(a), rounded(b), unit, ratio, (spread(ours), spread(theirs)), target, note, mb_s)


def rounded(value: float) -> float:
    """Four digits are more than a run can tell."""
    return float(f"{value:.4g}")


def verdict(row: Row) -> str:
    met = row.met()
    return "" if met is None else "met" if met else "MISSED"


def number(value: Value) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
