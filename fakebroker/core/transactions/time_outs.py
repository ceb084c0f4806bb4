"""The timeouts of the open transactions of one coordinator: a heap, so that no check reads all transactions.

Theory   Each transactional id is in it at most once, with the end time of the transaction that was open then. Most have
         ended by that time, and another may be open. That is found at its turn, and the id goes back with the new end
         time. So 10,000 open transactions cost nothing until the first of them is late. Late ones are handed out one by
         one, and are then kept in a list until they have ended: 10,000 late ones at once do not need one long slice.
Units    wall milliseconds.
Differs  Kafka reads all transactions every transaction.abort.timed.out.transaction.cleanup.interval.ms.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Final, final

from fakebroker.core.clock import NEVER_MS
from fakebroker.core.transactions.metadata import TransactionMetadata
from fakebroker.core.transactions.states import ONGOING

_AT_ONCE: Final = 64  # ended transactions that are only put back


@final
class TimeOuts:
    """The timeouts of one coordinator. `is_current` returns True if a transaction is still coordinated here."""

    __slots__ = ("_count", "_heap", "_is_current", "_late")

    def __init__(self, is_current: Callable[[TransactionMetadata], bool]) -> None:
        self._is_current = is_current
        self._count = 0  # of all that were ever added: it orders entries of the same time
        self._heap: list[tuple[int, int, TransactionMetadata]] = []
        self._late: deque[TransactionMetadata] = deque()  # handed out; those that ended since are still here

    def __len__(self) -> int:
        return len(self._heap) + len(self._late)

    def __bool__(self) -> bool:
        return len(self) > 0

    def note(self, transaction: TransactionMetadata) -> None:
        """Add a transaction that is open, now or after a change."""
        ends_ms = _ends_ms(transaction)
        if ends_ms < transaction.noted_ms:
            transaction.noted_ms = ends_ms
            self._count += 1
            heappush(self._heap, (ends_ms, self._count, transaction))

    def first_ms(self) -> int:
        """Return a time before which no transaction times out; NEVER_MS if none is open."""
        heap, late_ms = self._heap, self._first_late_ms()
        for _ in range(_AT_ONCE):
            if not heap:
                return late_ms
            noted_ms, _, transaction = heap[0]
            if noted_ms == transaction.noted_ms and self._is_open(transaction) and _ends_ms(transaction) <= noted_ms:
                break
            heappop(heap)
            if noted_ms == transaction.noted_ms:
                self._put_back(transaction)
        return min(late_ms, heap[0][0]) if heap else late_ms

    def _first_late_ms(self) -> int:
        late = self._late
        for _ in range(_AT_ONCE):
            if not late:
                return NEVER_MS
            if self._is_open(late[0]) and _ends_ms(late[0]) <= late[0].noted_ms:
                break
            self._put_back(late.popleft())
        return late[0].noted_ms if late else NEVER_MS

    def over(self, now_ms: int) -> Iterator[TransactionMetadata | None]:
        """Yield the transactions that timed out before, the earliest first, once each. The next call yields them again
        as long as they are open. The caller may change each before it takes the next. None is yielded at times, where
        many had to be read to find the next."""
        looked_at = 0
        for _ in range(len(self._late)):
            if not self._late:
                break
            transaction = self._late.popleft()
            looked_at += 1
            if self._is_open(transaction) and _ends_ms(transaction) < now_ms:
                self._late.append(transaction)
                yield transaction
            else:
                self._put_back(transaction)
                if looked_at % _AT_ONCE == 0:
                    yield None
        while self._heap and self._heap[0][0] < now_ms:
            noted_ms, _, transaction = heappop(self._heap)
            looked_at += 1
            if noted_ms == transaction.noted_ms:
                if self._is_open(transaction) and _ends_ms(transaction) < now_ms:
                    self._late.append(transaction)
                    yield transaction
                    continue
                self._put_back(transaction)
            if looked_at % _AT_ONCE == 0:
                yield None

    def _put_back(self, transaction: TransactionMetadata) -> None:
        """Put back an id with its next open transaction, if there is one."""
        transaction.noted_ms = NEVER_MS
        if self._is_open(transaction):
            self.note(transaction)

    def _is_open(self, transaction: TransactionMetadata) -> bool:
        return transaction.now.state is ONGOING and self._is_current(transaction)


def _ends_ms(transaction: TransactionMetadata) -> int:
    return transaction.now.start_ms + transaction.now.timeout_ms
