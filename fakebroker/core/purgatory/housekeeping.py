"""Periodic work of the cluster, which is skipped while it has nothing to do. A week without events passes in a moment.

Theory   A periodic task reports when its work will matter if nothing happens until then. Its ticks up to that time are
         skipped: the task is parked. Any event (a request, another deadline, a tick that had work) unparks all tasks,
         and each goes on at its next tick. The ticks are the same as without skipping, so both ways have the same
         effect at each millisecond; a test compares them. A task is parked only at a tick, so an unpark costs once per
         tick, not once per request.
Units    monotonic milliseconds. The time at which wall-clock age matters is computed as if both clocks go on together.
         If the wall clock is set, that is noticed at the next event.
Source   KafkaScheduler.java schedule @ 4.0.
Differs  Kafka's threads run every tick.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.core.clock import NEVER_MS, Now
from fakebroker.core.purgatory.deadlines import TimerDeadlines
from timingwheel import TimerTask


class Housekeeping(TimerDeadlines):
    """The timer of work for which no client waits. `ticks` counts the ticks of periodic tasks that ran, `idle_ticks`
    those without work. If `skips` is False, every tick runs, as in Kafka: a test compares the two."""

    def __init__(self, start_ms: int) -> None:
        super().__init__(start_ms, is_housekeeping=True)
        self.skips = True
        self.ticks = 0
        self.idle_ticks = 0
        self._parked: list[PeriodicTask] = []
        self._done_ms = start_ms - 1  # all that was due at this time is done

    def advance_clock(self, now_ms: int, limit: int | None = None) -> int:
        idle_ticks = self.idle_ticks
        try:
            ran = self.timer.advance_clock(now_ms, limit)
        except Exception:
            self.changed(now_ms)
            raise
        self.reached(now_ms)
        if ran > self.idle_ticks - idle_ticks:
            self.changed(now_ms)
        return ran

    def reached(self, now_ms: int) -> None:
        """Record that all work due by now is done."""
        if now_ms > self._done_ms:
            self._done_ms = now_ms

    def changed(self, now_ms: int) -> None:
        """Unpark all tasks after an event: what they saw may have changed."""
        if self._parked:
            parked = self._parked
            self._parked = []
            for task in parked:
                task.unpark(max(now_ms, self._done_ms + 1))

    def park(self, task: PeriodicTask) -> None:
        """Park the task until the next event."""
        self._parked.append(task)


class PeriodicTask(TimerTask):
    """A task that runs `action` first after `delay_ms`, then every `interval_ms`, until `stop`, also after a run that
    raised. It does not run `action` while that has no work.

    `matters_ms` returns the time at which the action will have work if nothing happens before: now or earlier for now,
    NEVER_MS or later for never. Too early does no harm; too late does.
    """

    __slots__ = (
        "_action", "_housekeeping", "_interval_ms", "_is_parked", "_is_stopped", "_matters_ms", "_next_ms", "_now",
    )  # fmt: skip

    def __init__(
        self,
        delay_ms: int,
        interval_ms: int,
        action: Callable[[Now], None],
        matters_ms: Callable[[Now], int],
        housekeeping: Housekeeping,
        now: Callable[[], Now],
    ) -> None:
        super().__init__(delay_ms)
        self._interval_ms = interval_ms
        self._action = action
        self._matters_ms = matters_ms
        self._housekeeping = housekeeping
        self._now = now
        self._is_parked = False
        self._is_stopped = False
        self._next_ms = now().mono_ms + delay_ms
        self._wait_until(self._next_ms)

    def run(self) -> None:
        now = self._now()
        self._next_ms = now.mono_ms + self._interval_ms
        self._wait_until(self._next_ms)  # first, because the action may fail
        self._housekeeping.ticks += 1
        matters_ms = self._matters_ms(now)
        if matters_ms <= now.mono_ms or not self._housekeeping.skips:
            self._action(now)
            return
        self._housekeeping.idle_ticks += 1
        if matters_ms > self._next_ms:
            if matters_ms >= NEVER_MS:
                self.cancel()
            else:
                self._wait_until(self._first_from(matters_ms))
            if not self._is_parked:
                self._is_parked = True
                self._housekeeping.park(self)

    def unpark(self, earliest_ms: int) -> None:
        """Go on at the first tick that is not before `earliest_ms`."""
        self._is_parked = False
        if not self._is_stopped:
            self._wait_until(self._first_from(earliest_ms))

    def stop(self) -> None:
        self._is_stopped = True
        self.cancel()

    def _first_from(self, earliest_ms: int) -> int:
        behind_ms = max(earliest_ms - self._next_ms, 0)
        return self._next_ms - -behind_ms // self._interval_ms * self._interval_ms

    def _wait_until(self, mono_ms: int) -> None:
        self.delay_ms = 0
        self._housekeeping.timer.add(self, mono_ms)
