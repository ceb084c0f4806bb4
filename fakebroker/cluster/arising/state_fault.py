"""A state fault: what it has done, what is still to do, and how it ends.

Theory   It continues between two events, as plans of faults do (cluster/faults/engine.py): a timer or a probe point
         makes it due. It `is_done` once its action is complete; a lasting state is done at once. It `is_over` once it
         has no effect any more.
Units    milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from fakebroker.cluster.faults.host import Wait
from fakebroker.cluster.lives import Lives
from fakebroker.cluster.members import Members
from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.presets import Preset
from fakebroker.core.journal.fault_events import FaultRemoved
from fakebroker.network.connection import Plan


class Engine(Protocol):
    """The engine of faults, as state faults need it."""

    def is_due(self, plan: Plan) -> None:
        """Continue the plan at the end of this step."""

    def after(self, ms: int, wake: Callable[[], None]) -> Wait:
        """Return a wait of `ms` milliseconds, which calls `wake` at its end."""

    def add(self, fault: Fault) -> Armed:
        """Install a fault."""

    def remove(self, armed: Armed, why: str = "removed") -> None:
        """Remove a fault."""


class StateFault(Plan):
    """A state fault. `name` is its name in the journal: "a1". `hits` counts how often it acted on a broker. The
    functions in `on_change` are called when any of this changes."""

    def __init__(self, members: Members, lives: Lives, engine: Engine, name: str, preset: Preset) -> None:
        self.name = name
        self.preset = preset
        self.hits = 0
        self.is_done = self.is_over = False
        self.on_change: list[Callable[[], None]] = []
        self._members = members
        self._clock = members.clock
        self._lives = lives
        self._engine = engine

    def check(self) -> None:
        """Raise ValueError with one sentence if it is impossible."""
        raise NotImplementedError

    def begin(self) -> None:
        """Start its effect."""
        raise NotImplementedError

    def undo(self) -> None:
        """Undo its effect where possible."""
        raise NotImplementedError

    def take(self, frame: bytes | None) -> None:
        raise AssertionError("a preset has no request")

    def go_on(self) -> None:
        """Continue after an event that it waited for."""

    # For subclasses.

    def _wake(self) -> None:
        if not self.is_over:
            self._engine.is_due(self)

    def _acted(self) -> None:
        self.hits += 1
        self._changed()

    def _done(self) -> None:
        """Mark it as done; its effect lasts."""
        self.is_done = True
        self._changed()

    def finish(self, why: str) -> None:
        """End it: it has no effect any more."""
        if not self.is_over:
            self.is_over = True
            self.stop_listening()
            probe = self._members.probe
            if probe.listeners:
                probe.tell(FaultRemoved(*probe.times, self.name, self.hits, why))
            self._changed()

    def stop_listening(self) -> None:
        """Cancel its timers and listeners."""

    def _changed(self) -> None:
        for tell in list(self.on_change):
            tell()

    def _check_broker(self, broker_id: int, *states: str) -> None:
        state = self._lives.state_of(broker_id)
        if state not in states:
            raise ValueError(
                f"{self.preset.name!r} needs a broker that is {' or '.join(states)}, but broker {broker_id} is {state}"
            )
