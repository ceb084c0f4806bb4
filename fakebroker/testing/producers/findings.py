"""The findings of a judge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

LOST, DUPLICATE, REORDERED, GAP = "lost", "duplicate", "reordered", "gap"


class Finding(NamedTuple):
    """A violation. `offset` is the place of the record now or before; `sentence` describes it."""

    kind: str
    topic: str
    partition: int
    offset: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.sentence}"


def describe(findings: Iterable[Finding]) -> str:
    """Return the findings, one per line."""
    return "\n".join(map(str, findings))
