"""A registry of everything in a cluster that has a deadline. Each source registers itself.

Theory   Each source has a rank. Sources due at the same millisecond run in the order of their ranks: followers, then
         housekeeping, then timeouts. Records replicated in time therefore count as in time. All sources are asked for
         their next deadline after each event, so `next_deadline_ms` of a source must be cheap.
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

# Ranks: (the kind of source, its owner, its number within the owner).
Rank = tuple[int, int, int]
FOLLOWERS: Final = 0
HOUSEKEEPING: Final = 1
TIMEOUTS: Final = 2


@mypyc_attr(allow_interpreted_subclasses=True)
class DeadlineSource:
    """A source of deadlines. `is_housekeeping`: no client waits for them. `moves_with_skips`: a skip of the clock
    brings them no nearer."""

    def __init__(self, is_housekeeping: bool, moves_with_skips: bool = False) -> None:
        self.is_housekeeping = is_housekeeping
        self.moves_with_skips = moves_with_skips

    def next_deadline_ms(self) -> int | None:
        """Return the time at which `advance_clock` next has work. It may be too early, never too late."""
        raise NotImplementedError

    def advance_clock(self, now_ms: int, limit: int | None = None) -> int:
        """Run at most `limit` tasks that are due by now, and return their number. The rest is due at the next call."""
        raise NotImplementedError

    def num_pending(self) -> int:
        """Return the number of pending deadlines."""
        raise NotImplementedError

    def num_awaited(self) -> int:
        """Return the number of pending deadlines for which a client waits: skipping time would unblock it."""
        raise NotImplementedError

    def changed(self, now_ms: int) -> None:
        """React to an event elsewhere in the cluster. By default, do nothing."""

    def run_as_drawn(self, order: Random) -> None:
        """Run the tasks that are due at the same millisecond in a random order from now on."""

    def check_invariants(self) -> None:
        raise NotImplementedError


class TimerDeadlines(DeadlineSource):
    """A timer with independent tasks. `unawaited` is the number of pending tasks for which no client waits."""

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
    """Deadlines of clients: send a heartbeat, join, give up partitions. A skip of the clock moves them along, so a
    client has as long as with the real clock."""

    def __init__(self, clock: HasNow, is_housekeeping: bool = False) -> None:
        super().__init__(is_housekeeping, moves_with_skips=True)
        self._clock = clock
        self._timer = SystemTimer(clock.client_ms)

    def add(self, task: TimerTask) -> None:
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
    """The deadlines of a cluster. `met` counts those that were reached, without housekeeping. `order`, if given, draws
    the order of the timeouts of one millisecond, within a source and among sources: in Kafka many threads run them."""

    def __init__(self, order: Random | None = None) -> None:
        self.met = 0
        self._order = order
        self.housekeeping: DeadlineSource | None = None
        self._sources: list[DeadlineSource] = []
        self._ranks: list[Rank] = []

    def add(self, source: DeadlineSource, rank: Rank) -> None:
        """Register a source, behind the others with the same rank."""
        place = bisect_right(self._ranks, rank)
        self._ranks.insert(place, rank)
        self._sources.insert(place, source)
        if source.is_housekeeping and not source.moves_with_skips:
            self.housekeeping = source
        if self._order is not None and rank[0] == TIMEOUTS:
            source.run_as_drawn(self._order)

    def remove(self, source: DeadlineSource) -> None:
        """Unregister a source. Its pending tasks never run."""
        place = self._sources.index(source)
        del self._ranks[place]
        del self._sources[place]

    def next_deadline_ms(self, if_skipped: bool = False) -> int | None:
        """Return the earliest deadline of all sources; with `if_skipped`, of those that a skip of the clock brings
        nearer."""
        earliest: int | None = None
        for source in self._sources:
            if if_skipped and source.moves_with_skips:
                continue
            deadline_ms = source.next_deadline_ms()
            if deadline_ms is not None and (earliest is None or deadline_ms < earliest):
                earliest = deadline_ms
        return earliest

    def advance_clock(self, now_ms: int, limit: int) -> int:
        """Run at most `limit` due tasks in the order of the ranks. Return their number, housekeeping included."""
        ran = 0
        sources = self._sources[:]  # a copy: a task may stop a broker
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
            if ran >= limit:  # this source may have more due tasks, which come before those of the next source
                break
        return ran

    def has_pending(self) -> bool:
        """Return True if a deadline other than housekeeping is pending."""
        return any(not source.is_housekeeping and source.num_pending() for source in self._sources)

    def is_awaited(self) -> bool:
        """Return True if skipping time would unblock a client."""
        return any(source.num_awaited() > 0 for source in self._sources)

    def check_invariants(self) -> None:
        assert self._ranks == sorted(self._ranks), "sources out of order"
        for source in self._sources:
            source.check_invariants()
