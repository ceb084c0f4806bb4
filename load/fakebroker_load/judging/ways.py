"""The witnesses of a run: the client's responses, the log, and the broker's journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WORDS = {1: "One way", 2: "Two ways", 3: "Three ways"}
NO_JOURNAL = "no --control and no --journal was given"


@dataclass(frozen=True, slots=True)
class Ways:
    """The witnesses of one run. `clock_us` are bounds for how far the broker's clock is ahead of the run's; None if
    unknown. If the lower bound exceeds the upper one, one of the clocks has missed some time."""

    run: str
    has_log: bool
    journal: str | None = None  # its name
    rows: int = 0
    why_no_journal: str | None = NO_JOURNAL
    clock_us: tuple[int, int] | None = None

    @property
    def count(self) -> int:
        return 1 + self.has_log + (self.journal is not None)

    def sentence(self) -> str:
        """Name the witnesses for the user, and why there are not more."""
        there = ["what the client saw", *(["the log"] if self.has_log else [])]
        if self.journal is not None:
            there.append(f"{self.journal} ({self.rows:,} rows)")
        missing = [] if self.has_log else ["the log was not read back"]
        missing += [] if self.why_no_journal is None else [f"without the broker's journal: {self.why_no_journal}"]
        parts = [f"{self.run}: {WORDS[self.count]}: {', '.join(there)}", *missing]
        return "; ".join(parts) + "." + (f" {self._clocks()}" if self.journal is not None else "")

    def _clocks(self) -> str:
        if self.clock_us is None:
            return "Nothing was answered by which the clocks could be compared."
        low, high = self.clock_us
        if low > high:
            return (
                f"The broker's clock and ours disagree by {(low - high) / 1000:,.1f} ms: "
                "time was skipped, or they drift. How long the broker waited is judged by its own."
            )
        return f"The two clocks are aligned to within {(high - low) / 2000:,.1f} ms."


def ways_of(run: Mapping[str, Any], clocks: Mapping[str, tuple[int, int]]) -> Ways:
    """Return the witnesses of an entry of run.json."""
    name, journal = run["scenario"]["name"], run.get("journal") or {}
    by_marks = journal.get("clock_us")  # wider than the bounds of the rows, and there without rows
    return Ways(
        name,
        bool(run.get("log")),
        journal.get("from"),
        journal.get("rows", 0),
        journal.get("why_not") if journal else NO_JOURNAL,
        clocks.get(name) or (by_marks and tuple(by_marks)),
    )


def as_far_as(ways: Sequence[Ways]) -> str:
    """Return how far a verdict goes, as the end of a sentence; empty if each run has all three witnesses."""
    if all(way.count == len(WORDS) for way in ways):
        return ""
    witnesses = ["the answers"]
    witnesses += ["the log"] if all(way.has_log for way in ways) else []
    witnesses += ["the journal"] if all(way.journal is not None for way in ways) else []
    return f", as far as {' and '.join(witnesses)} tell"


def has_journal(run: Mapping[str, Any]) -> bool:
    return (run.get("journal") or {}).get("from") is not None
