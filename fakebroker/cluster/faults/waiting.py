"""What is left for later: to go on at a time, and answers that go out together."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from fakebroker.network.connection import Connection, Plan, Work
from timingwheel import TimerTask


@final
class GoOn(Work):
    """A plan has its turn."""

    def __init__(self, connection: Connection, plan: Plan) -> None:
        self._connection = connection
        self._plan = plan

    def go_on(self) -> bool:
        self._connection.work = None
        self._plan.go_on()
        return False


@final
class Alarm(TimerTask):
    """Calls `tell` when its delay is over."""

    def __init__(self, delay_ms: int, tell: Callable[[], None]) -> None:
        super().__init__(delay_ms)
        self._tell = tell

    def run(self) -> None:
        self._tell()


@final
class Kept:
    """Answers of a connection that are to go out together."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.frames: list[bytes] = []
