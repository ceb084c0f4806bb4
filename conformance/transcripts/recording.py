"""Responses of a cluster to a case as they came: the raw bytes, and what the harness saw beside them.

Topic ids are those of `scenario.placeholder`, so that two clusters can say the same bytes.
Units    milliseconds; frames without their length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from conformance.targets.wire import Sent


@dataclass(frozen=True)
class Answer:
    """One answer, and what it answers: None if nothing that was sent has its correlation id. `after_ms` is how long
    it took; None for what was read from a file, where times are not kept."""

    to: Sent | None
    frame: bytes
    after_ms: float | None = None


@dataclass(frozen=True)
class Heard:
    """Responses on a connection that a step "settle", "listen" or "hear" noted. The connection then was "open",
    "closed" or "silent"."""

    step: str
    conn: str
    answers: tuple[Answer, ...]
    end: str


@dataclass(frozen=True)
class Isr:
    """The in-sync replicas of a partition ("topic-0") when they were as awaited, or when that took too long."""

    partition: str
    members: tuple[int, ...]


@dataclass(frozen=True)
class Log:
    """A partition's log: the error code of the read, offsets, and each batch as stored."""

    partition: str
    error: int
    start: int
    watermark: int
    end: int
    batches: tuple[bytes, ...]


Entry: TypeAlias = Heard | Isr | Log
Recording: TypeAlias = tuple[Entry, ...]  # an entry for each step that notes something
