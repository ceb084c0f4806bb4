"""A sequence that shows a difference, made shorter as long as it still does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Json = dict[str, Any]


def shrink(sequence: Json, differs: Callable[[Json], bool]) -> Json:
    """Return the sequence without commands that are not needed: blocks of commands, the largest first, down to single
    ones."""
    commands = sequence["commands"]
    size = max(1, len(commands) // 2)
    while size:
        at = 0
        while at < len(commands):
            shorter = commands[:at] + commands[at + size :]
            if shorter and differs({**sequence, "commands": shorter}):
                commands = shorter
            else:
                at += size
        size //= 2
    return {**sequence, "commands": commands}
