"""Long work of the control, in slices: all requests together take a bounded part of each turn of the event loop.

Theory   A request may have much to read: a journal, many topics. That is done in short slices, one of each request
         after the other. When a turn is over the loop goes round, and brokers are served.
Source   network/turn.py, server/turn/measured_turn.py do the same for Kafka's requests.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter
from typing import Any, Final, NamedTuple, TypeVar

from fakebroker.control.errors import ControlError, stopping
from fakebroker.network.turn import Turn
from fakebroker.protocol.slices import Slices
from fakebroker.server.turn.measured_turn import MeasuredTurn

T = TypeVar("T")

_SLICE: Final = 8  # slices between two reads of the clock


class _Work(NamedTuple):
    slices: Slices[Any]
    done: asyncio.Future[Any]
    spent_s: list[float]  # one number


class SlicedWork:
    """The work of one cluster's control. `turn` says when a turn is over."""

    def __init__(self, turn: Turn | None = None) -> None:
        self._turn = MeasuredTurn() if turn is None else turn
        self._work: deque[_Work] = deque()
        self._next: asyncio.Handle | None = None
        self._is_ended = False

    async def do(self, slices: Slices[T]) -> T:
        """Return the result of the slices. Raises ControlError if the cluster stops before."""
        return (await self.measure(slices))[0]

    async def measure(self, slices: Slices[T]) -> tuple[T, float]:
        """Return the result of the slices, and how many seconds they took."""
        if self._is_ended:
            raise stopping()
        loop = asyncio.get_running_loop()
        work = _Work(slices, loop.create_future(), [0.0])
        self._work.append(work)
        if self._next is None:
            self._next = loop.call_soon(self._go_on)
        return await work.done, work.spent_s[0]

    def end(self) -> None:
        """End all work: requests that wait for it get an error."""
        self._is_ended = True
        if self._next is not None:
            self._next.cancel()
            self._next = None
        while self._work:
            _end(self._work.popleft(), stopping())

    def _go_on(self) -> None:
        self._next = None
        self._turn.begin()
        self._turn.enter()
        while self._work and not self._turn.is_over():
            work = self._work.popleft()
            if work.done.cancelled():
                work.slices.close()
                continue
            begun_s = perf_counter()
            try:
                next(work.slices)
            except StopIteration as end:
                work.done.set_result(end.value)
            except Exception as error:
                work.done.set_exception(error)
            else:
                self._work.append(work)
            work.spent_s[0] += perf_counter() - begun_s
            self._turn.handled(_SLICE, 0)
        self._turn.leave()
        if self._work:
            self._next = asyncio.get_running_loop().call_soon(self._go_on)


def _end(work: _Work, error: ControlError) -> None:
    work.slices.close()
    if not work.done.done():
        work.done.set_exception(error)
