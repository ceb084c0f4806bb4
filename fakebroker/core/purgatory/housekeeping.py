"""What the cluster does from time to time on its own, and when it need not: a week goes by in a moment if nothing
happens in it.

Theory   A periodic task says of what it sees when that will matter, if nothing happens until then. Up to there its
         ticks are skipped: it is parked. Whatever happens (a request, another deadline, a tick that had something to
         do) ends that for all, and each goes on at the next of its times. They are the times at which it would have run
         anyway, so whoever skips and whoever does not see the same at each millisecond; a test compares them.
         Tasks are parked at their ticks only, so what happens ends it once per tick, not once per request.
Units    monotonic milliseconds. What is old by wall time matters when that is reached if both clocks go on together; a
         wall clock that is set is seen when the next thing happens.
Source   KafkaScheduler.java schedule @ 4.0.
Differs  Kafka's threads run every tick.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.core.clock import NEVER_MS, Now
from fakebroker.core.purgatory.deadlines import TimerDeadlines
from timingwheel import TimerTask


class Housekeeping(TimerDeadlines):
    """The timer of what nobody outside waits for. `ticks` and `idle_ticks` count those of periodic tasks that were
    run, and those of them at which nothing was to be done. Without `skips` all are run, as in Kafka: a test compares
    them."""

    def __init__(self, start_ms: int) -> None:
        super().__init__(start_ms, is_housekeeping=True)
        self.skips = True
        self.ticks = 0
        self.idle_ticks = 0
        self._parked: list[PeriodicTask] = []
        self._done_ms = start_ms - 1  # what was due at this time has been done

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
        """All that was due by now has been done."""
        if now_ms > self._done_ms:
            self._done_ms = now_ms

    def changed(self, now_ms: int) -> None:
        """Something has happened: what parked tasks have seen may no longer be so."""
        if self._parked:
            parked = self._parked
            self._parked = []
            for task in parked:
                task.unpark(max(now_ms, self._done_ms + 1))

    def park(self, task: PeriodicTask) -> None:
        """Tell it when something happens."""
        self._parked.append(task)


class PeriodicTask(TimerTask):
    """Does `action` for the first time after `delay_ms`, then every `interval_ms`, until it is stopped, whatever
    becomes of it once. Not where it has nothing to do: `matters_ms` tells when it will, if nothing happens before; now
    or earlier for now, NEVER_MS or later for never. One too early is no harm, one too late is."""

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
        self._wait_until(self._next_ms)  # first: the action may fail
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
        """Go on at the next time that is not before `earliest_ms`."""
        self._is_parked = False
        if not self._is_stopped:
            self._wait_until(self._first_from(earliest_ms))

    def stop(self) -> None:
        """Never run again."""
        self._is_stopped = True
        self.cancel()

    def _first_from(self, earliest_ms: int) -> int:
        behind_ms = max(earliest_ms - self._next_ms, 0)
        return self._next_ms - -behind_ms // self._interval_ms * self._interval_ms

    def _wait_until(self, mono_ms: int) -> None:
        self.delay_ms = 0
        self._housekeeping.timer.add(self, mono_ms)
