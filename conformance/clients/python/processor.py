"""Common parts of programs that consume, transform and produce exactly once (../README.md)."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import Any

from conformance.clients.python.lines import tell

DEAD = 9


@dataclass(frozen=True)
class Processor:
    """The settings of a processor: its ids, its input and its output. `die` is the step at which it ends before it has
    consumed anything.

    instance     of a static member, or None
    session_ms   how long its group waits for it, `timeout_ms` how long its transactions may take; None is the client's
    """

    bootstrap: str
    group: str
    instance: str | None
    id: str
    inputs: str
    outputs: str
    die: str | None
    session_ms: int | None
    timeout_ms: int | None


class Steps:
    """The step that a processor has reached, and the one after which it dies."""

    def __init__(self, die: str | None) -> None:
        self._die = die
        self.aborts = False

    def consumed(self, value: str) -> None:
        """Tells of an input, and waits for the word to go on."""
        tell({"consumed": value})
        said = json.loads(sys.stdin.readline())
        self._die, self.aborts = said["die"], said["do"] == "abort"
        self.reached("consumed")

    def reached(self, step: str) -> None:
        """Exit here if the processor is to die after this step: it closes nothing and tells no peer."""
        if step == self._die:
            os._exit(DEAD)


def processor() -> Processor:
    """Return the processor of the plan in the first line of stdin."""
    return of(json.loads(sys.stdin.readline()))


def of(plan: dict[str, Any]) -> Processor:
    given = plan["processor"]
    return Processor(
        plan["bootstrap"],
        given["group"],
        given["instance"],
        given["id"],
        given["in"],
        given["out"],
        given["die"],
        given.get("session_ms"),
        given.get("timeout_ms"),
    )


def give_up(error: BaseException) -> None:
    """The program tells why and ends: another will take its place."""
    name = getattr(error.args[0], "name", None) if error.args else None
    tell({"error": name() if callable(name) else type(error).__name__})
    os._exit(1)
