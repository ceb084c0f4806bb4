"""Everything in a cluster that has a deadline, in one place: who has one registers itself.

Theory   Each source has a rank. At the same millisecond they run in the order of their ranks: what followers do comes
         before housekeeping and that before timeouts, so what was replicated in time counts as in time. A source that
         is asked too often must be cheap to ask: all are asked after each event.
Units    monotonic milliseconds.
Source   Takes the place of Kafka's reaper threads and schedulers, which are one for each purgatory.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from random import Random
from typing import Final, final

from fakebroker.core.clock import HasNow
from timingwheel import SystemTimer, TimerTask
from timingwheel.mypyc import mypyc_attr

# Ranks: (what it is, whose it is, which of his).
Rank = tuple[int, int, int]
FOLLOWERS: Final = 0
HOUSEKEEPING: Final = 1
TIMEOUTS: Final = 2


@mypyc_attr(allow_interpreted_subclasses=True)
class DeadlineSource:
    """Something with deadlines. `is_housekeeping`: nobody outside waits for them. `moves_with_skips`: a skip of the
    clock brings them no nearer."""

    def __init__(self, is_housekeeping: bool, moves_with_skips: bool = False) -> None:
        self.is_housekeeping = is_housekeeping
        self.moves_with_skips = moves_with_skips

    def next_deadline_ms(self) -> int | None:
        """When `advance_clock` next has something to do; maybe earlier, never later."""
        raise NotImplementedError

    def advance_clock(self, now_ms: int, limit: int | None = None) -> int:
        """Run what is due by now, so many at most; how many that were. What is left is due at the next call."""
        raise NotImplementedError

    def num_pending(self) -> int:
        """How many deadlines are to come."""
        raise NotImplementedError

    def num_awaited(self) -> int:
        """How many of them somebody would be glad to see sooner."""
        raise NotImplementedError

    def changed(self, now_ms: int) -> None:
        """Something has happened elsewhere."""

    def run_as_drawn(self, order: Random) -> None:
        """From now on what is due at the same millisecond runs in an order that is drawn."""

    def check_invariants(self) -> None:
        raise NotImplementedError


class TimerDeadlines(DeadlineSource):
    """A timer whose tasks are their own. `unawaited` is how many of those to come nobody waits for."""

    def __init__(self, start_ms: int, is_housekeeping: bool = False) -> None:
        super().__init__(is_housekeeping)
        self.timer = SystemTimer(start_ms)
        self.unawaited = 0

    def next_deadline_ms(self) -> int | None:
        return self.timer.next_deadline_ms()

    def advance_clock(self, now_ms: int, limit: int | None = None) -> int:
        return self.timer.advance_clock(now_ms, limit)

    def run_as_drawn(self, order: Random) -> None:
        self.timer.pick = order.randrange

    def num_pending(self) -> int:
        return self.timer.size

    def num_awaited(self) -> int:
        return 0 if self.is_housekeeping else self.timer.size - self.unawaited

    def check_invariants(self) -> None:
        self.timer.check_invariants()


@final
class ClientDeadlines(DeadlineSource):
    """What clients have to do in time: send a heartbeat, join, give up partitions. A skip moves these deadlines along,
    so a client has as long as with the real clock."""

    def __init__(self, clock: HasNow, is_housekeeping: bool = False) -> None:
        super().__init__(is_housekeeping, moves_with_skips=True)
        self._clock = clock
        self._timer = SystemTimer(clock.client_ms)

    def add(self, task: TimerTask) -> None:
        """Run the task after its delay."""
        self._timer.add(task, self._clock.client_ms)

    def next_deadline_ms(self) -> int | None:
        deadline_ms = self._timer.next_deadline_ms()
        return None if deadline_ms is None else deadline_ms + self._clock.skipped_ms

    def advance_clock(self, now_ms: int, limit: int | None = None) -> int:
        return self._timer.advance_clock(now_ms - self._clock.skipped_ms, limit)

    def run_as_drawn(self, order: Random) -> None:
        self._timer.pick = order.randrange

    def num_pending(self) -> int:
        return self._timer.size

    def num_awaited(self) -> int:
        return 0

    def check_invariants(self) -> None:
        self._timer.check_invariants()


class Deadlines:
    """The deadlines of a cluster. `met` counts those that have come, all but housekeeping. `order`, if there is one,
    draws which of the timeouts of one millisecond is next, of a source and among sources: Kafka's are run by many
    threads."""

    def __init__(self, order: Random | None = None) -> None:
        self.met = 0
        self._order = order
        self.housekeeping: DeadlineSource | None = None
        self._sources: list[DeadlineSource] = []
        self._ranks: list[Rank] = []

    def add(self, source: DeadlineSource, rank: Rank) -> None:
        """From now on this source is asked; of those with the same rank, behind the others."""
        place = bisect_right(self._ranks, rank)
        self._ranks.insert(place, rank)
        self._sources.insert(place, source)
        if source.is_housekeeping and not source.moves_with_skips:
            self.housekeeping = source
        if self._order is not None and rank[0] == TIMEOUTS:
            source.run_as_drawn(self._order)

    def remove(self, source: DeadlineSource) -> None:
        """It is not asked any more: what it has pending never comes."""
        place = self._sources.index(source)
        del self._ranks[place]
        del self._sources[place]

    def next_deadline_ms(self, if_skipped: bool = False) -> int | None:
        """The earliest of all; `if_skipped`: of those that a skip of the clock brings nearer."""
        earliest: int | None = None
        for source in self._sources:
            if if_skipped and source.moves_with_skips:
                continue
            deadline_ms = source.next_deadline_ms()
            if deadline_ms is not None and (earliest is None or deadline_ms < earliest):
                earliest = deadline_ms
        return earliest

    def advance_clock(self, now_ms: int, limit: int) -> int:
        """Run what is due by now, in the order of the ranks, so many at most. How many that were, housekeeping too."""
        ran = 0
        sources = self._sources[:]  # who runs may stop a broker
        if self._order is not None:
            first = bisect_left(self._ranks, (TIMEOUTS, 0, 0))
            timeouts = sources[first:]
            self._order.shuffle(timeouts)
            sources[first:] = timeouts
        for source in sources:
            tasks = source.advance_clock(now_ms, limit - ran)
            ran += tasks
            if not source.is_housekeeping:
                self.met += tasks
            if tasks and self.housekeeping is not None and source is not self.housekeeping:
                self.housekeeping.changed(now_ms)
            if ran >= limit:  # this source may have more, which comes before the next one's
                break
        return ran

    def has_pending(self) -> bool:
        """Whether there is any to come but housekeeping."""
        return any(not source.is_housekeeping and source.num_pending() for source in self._sources)

    def is_awaited(self) -> bool:
        """Whether somebody would be glad to see one sooner."""
        return any(source.num_awaited() > 0 for source in self._sources)

    def check_invariants(self) -> None:
        assert self._ranks == sorted(self._ranks), "sources out of order"
        for source in self._sources:
            source.check_invariants()
