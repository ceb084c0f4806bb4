"""Deferred steps of plans: continue later, and responses that are sent together."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from fakebroker.network.connection import Connection, Plan, Work
from timingwheel import TimerTask


@final
class GoOn(Work):
    """The turn of a plan, as work of its connection."""

    def __init__(self, connection: Connection, plan: Plan) -> None:
        self._connection = connection
        self._plan = plan

    def go_on(self) -> bool:
        self._connection.work = None
        self._plan.go_on()
        return False


@final
class PlanTurn(Work):
    """The turn of a plan, which the engine then continues."""

    def __init__(self, connection: Connection, plan: Plan, is_due: Callable[[Plan], None]) -> None:
        self._connection = connection
        self._plan = plan
        self._is_due = is_due

    def go_on(self) -> bool:
        self._connection.work = None
        self._is_due(self._plan)
        return False


@final
class Alarm(TimerTask):
    """A timer that calls `tell` after its delay."""

    def __init__(self, delay_ms: int, tell: Callable[[], None]) -> None:
        super().__init__(delay_ms)
        self._tell = tell

    def run(self) -> None:
        self._tell()


@final
class CoalescedResponses:
    """Responses of a connection that are to be sent together."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.frames: list[bytes] = []
