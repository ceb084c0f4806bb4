"""The place of delayed operations, under the keys of the events that may complete them.

Theory   An operation is watched under every one of its keys; an event on a key re-checks the operations watched there.
         Completed operations stay on the lists of their other keys until a visit or a purge drops them. The purge runs
         when the estimate of such leftovers exceeds `purge_interval`.
Source   server-common/.../purgatory/DelayedOperationPurgatory.java @ 4.0: tryCompleteElseWatch, checkAndComplete,
         cancelForKey, watched, numDelayed, advanceClock, Watchers.
Differs  One thread: one dict for the 512 shards, no locks. No reaper thread: the owner calls `advance_clock` when
         `next_deadline_ms` says so, instead of every 200 ms. The purge is considered then and after each watch. Without
         the 200 ms pulse a purgatory in which nothing expires would otherwise never be purged.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random
from typing import Generic, TypeVar

from fakebroker.core.clock import HasNow
from fakebroker.core.purgatory.deadlines import DeadlineSource
from fakebroker.core.purgatory.delayed_operation import DelayedOperation
from timingwheel import SystemTimer

Operation = TypeVar("Operation", bound=DelayedOperation)


class DelayedOperationPurgatory(DeadlineSource, Generic[Operation]):
    """The delayed operations of one kind on one broker, with a timer of their own. Keys are anything hashable.

    `without_skips`: the clock of the clients, for operations that gain nothing by a skip. For example, a consumer polls
    again as soon as its long poll ends. Such operations are parked as long as with the real clock.
    """

    def __init__(
        self, name: str, start_ms: int, purge_interval: int = 1000, without_skips: HasNow | None = None
    ) -> None:
        super().__init__(is_housekeeping=False, moves_with_skips=without_skips is not None)
        self.name = name
        self.purge_interval = purge_interval
        self._without_skips = without_skips
        self._timer = SystemTimer(start_ms - self._skipped_ms())
        self._watchers: dict[Hashable, list[Operation]] = {}
        self._estimated_total_operations = 0
        self._expired_at_once: list[Operation] = []

    def try_complete_else_watch(self, operation: Operation, keys: Sequence[Hashable], now_ms: int) -> bool:
        """Complete the operation at once, or watch it under all `keys` and start its timer.

        Return True only if this call completed it. The second try, after all keys are watched, catches an event between
        the first try and the watching. The timer is started last, so a satisfied operation never touches it.
        """
        if not keys:
            raise ValueError("The watch key list can't be empty")
        if operation.try_complete():
            return True
        for key in keys:
            if not operation.is_completed():
                watched = self._watchers.get(key)
                if watched is None:
                    self._watchers[key] = [operation]
                else:
                    watched.append(operation)
        self._estimated_total_operations += 1
        if operation.try_complete():
            return True
        # This call did not complete the operation, yet it may be completed. Kafka checks again after it starts the
        # timer, in case another thread completed the operation meanwhile; here there is no other thread.
        if not operation.is_completed():
            self._timer.add(operation, now_ms - self._skipped_ms())
            if operation.delay_ms <= 0:
                self._expired_at_once.append(operation)
        self._maybe_purge()
        return False

    def expire_at_once(self) -> None:
        """Expire the operations with a timeout of 0, at the end of the request that made them, before anything else can
        complete them. Kafka's timer hands them to its executor without waiting for a tick."""
        if not self._expired_at_once:
            return
        expired, self._expired_at_once = self._expired_at_once, []
        for operation in expired:
            operation.run()

    def check_and_complete(self, key: Hashable) -> int:
        """Re-check the operations watched under `key`. Return how many this call completed."""
        if not self._watchers:
            return 0
        watched = self._watchers.get(key)
        if watched is None:
            return 0
        completed = 0
        # A completion may watch new operations under this key. They are appended behind this snapshot, and their own
        # try_complete_else_watch has tried them.
        for operation in watched[:]:
            if not operation.is_completed() and operation.try_complete_for(key):
                completed += 1
        self._drop_completed(key)
        return completed

    def check_and_complete_all(self) -> None:
        """Re-check the operations of all keys."""
        for key in list(self._watchers):
            self.check_and_complete(key)

    def cancel_for_key(self, key: Hashable) -> list[Operation]:
        """Forget the key. Its operations lose their timer; they are not completed."""
        cancelled = self._watchers.pop(key, [])
        for operation in cancelled:
            operation.cancel()
        return cancelled

    def watched(self) -> int:
        """Return the number of entries on all lists, including completed ones that were not dropped yet."""
        return sum(len(operations) for operations in self._watchers.values())

    def num_delayed(self) -> int:
        """Return the exact number of operations with a running timer."""
        return self._timer.size

    def num_pending(self) -> int:
        return self._timer.size

    def run_as_drawn(self, order: Random) -> None:
        self._timer.pick = order.randrange

    def num_awaited(self) -> int:
        return self._timer.size if self._without_skips is None else 0

    def next_deadline_ms(self) -> int | None:
        deadline_ms = self._timer.next_deadline_ms()
        return None if deadline_ms is None else deadline_ms + self._skipped_ms()

    def advance_clock(self, now_ms: int, limit: int | None = None) -> int:
        """Expire at most `limit` operations that are due by `now_ms`, then purge if it is worth it. Return the number
        expired."""
        expired = self._timer.advance_clock(now_ms - self._skipped_ms(), limit)
        self._maybe_purge()
        return expired

    def _skipped_ms(self) -> int:
        return 0 if self._without_skips is None else self._without_skips.skipped_ms

    def _maybe_purge(self) -> None:
        if self._estimated_total_operations - self.num_delayed() > self.purge_interval:
            self._estimated_total_operations = self.num_delayed()
            for key in list(self._watchers):
                self._drop_completed(key)

    def _drop_completed(self, key: Hashable) -> None:
        operations = self._watchers.get(key)
        if operations is None:
            return
        pending = [operation for operation in operations if not operation.is_completed()]
        if pending:
            self._watchers[key] = pending
        else:
            del self._watchers[key]

    def check_invariants(self) -> None:
        pending: set[int] = set()
        for operations in self._watchers.values():
            assert operations, "an empty watch list is kept"
            pending.update(id(operation) for operation in operations if not operation.is_completed())
        assert len(pending) == self.num_delayed(), f"{len(pending)} pending, {self.num_delayed()} timed"
        self._timer.check_invariants()
