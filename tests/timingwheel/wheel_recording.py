"""Tasks that write down that they ran."""

from __future__ import annotations

from collections.abc import Callable

from timingwheel import SystemTimer, TimerTask

Then = Callable[[], object] | None


class Recording(TimerTask):
    """Appends its name to a log, then does whatever else it was told to."""

    __slots__ = ("log", "name", "then")

    def __init__(
        self, delay_ms: int, name: object, log: list[object], then: Callable[[], object] | None = None
    ) -> None:
        super().__init__(delay_ms)
        self.name = name
        self.log = log
        self.then = then

    def run(self) -> None:
        self.log.append(self.name)
        if self.then is not None:
            self.then()


def add_all(timer: SystemTimer, delays_ms: list[int], log: list[object], now_ms: int = 0) -> list[Recording]:
    """One task per delay, named by its deadline."""
    tasks = [Recording(delay_ms, now_ms + delay_ms, log) for delay_ms in delays_ms]
    for task in tasks:
        timer.add(task, now_ms)
    return tasks


def run_out(timer: SystemTimer, most: int = 1_000_000) -> list[int]:
    """Advance from deadline to deadline until nothing is pending; the times visited."""
    times: list[int] = []
    while (deadline_ms := timer.next_deadline_ms()) is not None:
        timer.advance_clock(deadline_ms)
        timer.check_invariants()
        times.append(deadline_ms)
        assert len(times) <= most, "the timer does not come to an end"
    return times
