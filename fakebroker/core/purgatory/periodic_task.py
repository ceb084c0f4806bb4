"""A job that is done again and again, whatever becomes of it once.

Units    monotonic milliseconds.
Source   KafkaScheduler.java schedule @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.core.clock import Now
from timingwheel import SystemTimer, TimerTask


class PeriodicTask(TimerTask):
    """Does `action` for the first time after `delay_ms`, then every `interval_ms`, as long as the timer goes on."""

    __slots__ = ("_action", "_interval_ms", "_now", "_timer")

    def __init__(
        self,
        delay_ms: int,
        interval_ms: int,
        action: Callable[[Now], None],
        timer: SystemTimer,
        now: Callable[[], Now],
    ) -> None:
        super().__init__(delay_ms)
        self._interval_ms = interval_ms
        self._action = action
        self._timer = timer
        self._now = now
        timer.add(self, now().mono_ms)

    def run(self) -> None:
        now = self._now()
        self.delay_ms = self._interval_ms
        self._timer.add(self, now.mono_ms)  # first: the action may fail
        self._action(now)
