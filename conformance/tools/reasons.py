"""Where a command may differ, and why. A reason that explains nothing is an error, as is a difference without one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """`command` is found in the line of the command; `lines` in each line that differs (`-` Kafka's, `+` ours)."""

    command: str
    lines: str
    why: str


REASONS: tuple[Reason, ...] = ()
