"""Long work of a broker without a request, in slices, so that requests are delayed by one slice at most.

Theory   The first slice runs at once, since most work ends with it. The rest waits in one queue. One slice of the queue
         runs at a time, in turn, so a request in between waits for one slice, however long the queue is. In virtual
         time all of it happens at the same millisecond.
Source   Kafka has threads for it: the scheduler of TransactionCoordinator, TxnMarkerSenderThread, request handlers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, final

from fakebroker.protocol.slices import Slices

_SMALL_OF_A_SLICE: Final = 32  # a few tens of us each


@final
class InTurns:
    """The queue of one broker. `soon` calls a function after other pending work; `report` receives bugs of ours."""

    def __init__(self, soon: Callable[[Callable[[], None]], None], report: Callable[[str, Exception], None]) -> None:
        self._soon = soon
        self._report = report
        self._waiting: deque[tuple[str, Slices[None]]] = deque()
        self._small: deque[tuple[str, Callable[[], None]]] = deque()
        self._is_called = False

    def __len__(self) -> int:
        return len(self._waiting)

    def __bool__(self) -> bool:
        return len(self) > 0

    def go_on(self, where: str, slices: Slices[None]) -> None:
        """Run the first slice now, the others after other pending work. `where` is reported with a bug."""
        if self._has_more(where, slices):
            self._waiting.append((where, slices))
            self._call()

    def put_off(self, where: str, do: Callable[[], None]) -> None:
        """Call a small function after other pending work. Such functions keep their order; several of them are a
        slice."""
        if not self._small:
            self._waiting.append((where, self._all_small()))
            self._call()
        self._small.append((where, do))

    def _all_small(self) -> Slices[None]:
        while self._small:
            for _ in range(min(_SMALL_OF_A_SLICE, len(self._small))):
                where, do = self._small.popleft()
                try:
                    do()
                except Exception as error:
                    self._report(where, error)
            if self._small:
                yield

    def close(self) -> None:
        """Drop all waiting work: the broker stops."""
        self._waiting.clear()
        self._small.clear()

    def _call(self) -> None:
        if not self._is_called:
            self._is_called = True
            self._soon(self._next)

    def _next(self) -> None:
        self._is_called = False
        if not self._waiting:
            return
        first = self._waiting.popleft()
        if self._has_more(*first):
            self._waiting.append(first)
        if self._waiting:
            self._call()

    def _has_more(self, where: str, slices: Slices[None]) -> bool:
        try:
            next(slices)
        except StopIteration:
            return False
        except Exception as error:
            self._report(where, error)
            return False
        return True
