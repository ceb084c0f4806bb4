"""A fault that has arisen: what it did, what is still to come of it, and how it ends.

Theory   It goes on when nobody is in the middle of something, as plans of faults do (cluster/faults/engine.py): a timer
         or a point of the probe makes it due. It `is_done` once it has done what it is there for, which a state that
         lasts is at once; it `is_over` once nothing of it is left.
Units    milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from fakebroker.cluster.faults.host import Wait
from fakebroker.cluster.lives import Lives
from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.presets import Preset
from fakebroker.network.connection import Plan


class Engine(Protocol):
    """The faults, as those that arise need them."""

    def is_due(self, plan: Plan) -> None:
        """It goes on at the end of this step."""

    def after(self, ms: int, wake: Callable[[], None]) -> Wait:
        """A wait of so long."""

    def add(self, fault: Fault) -> Armed:
        """Install a fault."""

    def remove(self, armed: Armed, why: str = "removed") -> None:
        """Take it away."""


class Arisen(Plan):
    """`name` is that in the journal: "a1". `hits` is how often it has done something to a broker; what is in
    `on_change` is called when any of this changes."""

    def __init__(self, lives: Lives, engine: Engine, name: str, preset: Preset) -> None:
        self.name = name
        self.preset = preset
        self.hits = 0
        self.is_done = self.is_over = False
        self.on_change: list[Callable[[], None]] = []
        self._lives = lives
        self._engine = engine

    def check(self) -> None:
        """Whether it can be. Raises ValueError in one sentence."""
        raise NotImplementedError

    def begin(self) -> None:
        """It arises."""
        raise NotImplementedError

    def undo(self) -> None:
        """As far as it can be."""
        raise NotImplementedError

    def take(self, frame: bytes | None) -> None:
        raise AssertionError("nothing was asked")

    def go_on(self) -> None:
        """Something has come that it waited for."""

    # For those that extend it.

    def _wake(self) -> None:
        if not self.is_over:
            self._engine.is_due(self)

    def _acted(self) -> None:
        self.hits += 1
        self._changed()

    def _done(self) -> None:
        """It lasts, and has done what it is there for."""
        self.is_done = True
        self._changed()

    def finish(self, why: str) -> None:
        """Nothing is left of it."""
        if not self.is_over:
            self.is_over = True
            self.stop_listening()
            for listener in self._lives.probe.listeners:
                listener.fault_removed(self.name, self.hits, why)
            self._changed()

    def stop_listening(self) -> None:
        """Nothing wakes it any more."""

    def _changed(self) -> None:
        for tell in list(self.on_change):
            tell()

    def _check_broker(self, broker_id: int, *states: str) -> None:
        state = self._lives.state_of(broker_id)
        if state not in states:
            raise ValueError(
                f"{self.preset.name!r} wants a broker that is {' or '.join(states)}, and broker {broker_id} is {state}"
            )
