"""When the open transactions of one coordinator have had their time: a heap, so that nobody has to look at all of them.

Theory   Each transactional id stands in it once at most, with the time at which its transaction of then would be over.
         Most have ended by that time, and another may be open: that is seen when their turn comes, and the id goes back
         with the time of that one. So 10,000 open transactions cost nothing until the first of them is late.
Units    wall milliseconds.
Differs  Kafka looks at all transactions every transaction.abort.timed.out.transaction.cleanup.interval.ms.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import final

from fakebroker.core.clock import NEVER_MS
from fakebroker.core.transactions.metadata import TransactionMetadata
from fakebroker.core.transactions.states import TransactionState


@final
class TimeOuts:
    """`is_current` tells whether a transaction is still coordinated here."""

    __slots__ = ("_count", "_heap", "_is_current")

    def __init__(self, is_current: Callable[[TransactionMetadata], bool]) -> None:
        self._is_current = is_current
        self._count = 0  # of all that were ever noted: no two of the same time are compared further
        self._heap: list[tuple[int, int, TransactionMetadata]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def note(self, transaction: TransactionMetadata) -> None:
        """It is open, now or after a change."""
        ends_ms = _ends_ms(transaction)
        if ends_ms < transaction.noted_ms:
            transaction.noted_ms = ends_ms
            self._count += 1
            heappush(self._heap, (ends_ms, self._count, transaction))

    def first_ms(self) -> int:
        """No transaction is over before this time; NEVER_MS if none is open."""
        heap = self._heap
        while heap:
            noted_ms, _, transaction = heap[0]
            if noted_ms == transaction.noted_ms and self._is_open(transaction) and _ends_ms(transaction) <= noted_ms:
                return noted_ms
            self._look_again()
        return NEVER_MS

    def over(self, now_ms: int) -> list[TransactionMetadata]:
        """Those whose time ended before; the earliest first. They are told again as long as they are open."""
        found: list[TransactionMetadata] = []
        while self.first_ms() < now_ms:
            transaction = heappop(self._heap)[2]
            transaction.noted_ms = NEVER_MS
            found.append(transaction)
        for transaction in found:
            self.note(transaction)
        return found

    def _look_again(self) -> None:
        """The first one has ended, or another transaction of this id is open."""
        noted_ms, _, transaction = heappop(self._heap)
        if noted_ms == transaction.noted_ms:
            transaction.noted_ms = NEVER_MS
            if self._is_open(transaction):
                self.note(transaction)

    def _is_open(self, transaction: TransactionMetadata) -> bool:
        return transaction.now.state is TransactionState.ONGOING and self._is_current(transaction)


def _ends_ms(transaction: TransactionMetadata) -> int:
    return transaction.now.start_ms + transaction.now.timeout_ms
