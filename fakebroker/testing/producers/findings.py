"""What is not as it should be with what was written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

LOST, DUPLICATE, REORDERED, GAP = "lost", "duplicate", "reordered", "gap"


class Finding(NamedTuple):
    """Something that is not as it should be. `offset` is where it stands, or stood; `sentence` says what it is."""

    kind: str
    topic: str
    partition: int
    offset: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.sentence}"


def describe(findings: Iterable[Finding]) -> str:
    """One line each."""
    return "\n".join(map(str, findings))
