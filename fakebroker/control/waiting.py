"""Waiting for something to happen in a cluster: no polling, and no wait that has no end.

Theory   A request that waits looks, in slices, and looks again when something was told in the journal or done over
         HTTP; the more a look costs, the less often. It ends with what it waited for, or when a limit is over: one by
         the broker's clock, one by the machine's.
Units    milliseconds; seconds of the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from typing import TypeVar

from fakebroker.control.errors import ControlError, stopping
from fakebroker.control.sliced_work import SlicedWork
from fakebroker.protocol.slices import Slices

T = TypeVar("T")
Look = Callable[[], Slices[T | None] | Awaitable[Slices[T | None]]]

MAX_WAITING = 200  # at a time, of a cluster
_REST = 10  # times as long as a look took, until the next


class Changes:
    """Tells all who wait that something may have changed, and counts how often. `ended` is set when nothing more will:
    the cluster is about to stop."""

    def __init__(self) -> None:
        self.count = 0
        self.ended = asyncio.Event()
        self._waiting: set[asyncio.Future[None]] = set()

    def tell(self) -> None:
        """Something happened."""
        self.count += 1
        if self._waiting:
            for waiting in self._waiting:
                if not waiting.done():
                    waiting.set_result(None)
            self._waiting.clear()

    def end(self) -> None:
        """Nothing more will happen."""
        self.ended.set()
        self.tell()

    async def next(self, seen: int, limit_s: float) -> None:
        """Return when something has happened since the count was `seen`, or when the limit is over."""
        if self.count != seen:
            return
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await asyncio.wait((waiting,), timeout=max(limit_s, 0))
        finally:
            self._waiting.discard(waiting)

    async def rest(self, limit_s: float) -> None:
        """Return when the limit is over, or when nothing more will happen."""
        if limit_s > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.ended.wait(), limit_s)


class Waiting:
    """The waits of one cluster. `elapsed_ms` is its clock; `goes` whether that goes by itself."""

    def __init__(self, changes: Changes, work: SlicedWork, elapsed_ms: Callable[[], int], goes: bool) -> None:
        self._changes = changes
        self._work = work
        self._elapsed_ms = elapsed_ms
        self._goes = goes
        self.count = 0

    async def until(self, look: Look[T], timeout_ms: int, timeout_wall_ms: int) -> T | None:
        """What `look` gives as soon as it gives anything; None when a limit is over. Raises ControlError if too many
        wait, and if the cluster stops."""
        if self.count >= MAX_WAITING:
            raise ControlError(429, "TOO_MANY", f"{MAX_WAITING} requests of this cluster wait already")
        self.count += 1
        try:
            return await self._until(look, timeout_ms, timeout_wall_ms)
        finally:
            self.count -= 1

    async def _until(self, look: Look[T], timeout_ms: int, timeout_wall_ms: int) -> T | None:
        loop = asyncio.get_running_loop()
        end_s = loop.time() + timeout_wall_ms / 1000
        end_ms = self._elapsed_ms() + timeout_ms
        while True:
            seen = self._changes.count
            slices = look()
            if not isinstance(slices, Generator):
                slices = await slices
            found, cost_s = await self._work.measure(slices)
            if found is not None:
                return found
            left_s, left_ms = end_s - loop.time(), end_ms - self._elapsed_ms()
            if left_s <= 0 or left_ms <= 0:
                return None
            if self._changes.ended.is_set():
                raise stopping()
            limit_s = min(left_s, left_ms / 1000) if self._goes else left_s
            await self._changes.next(seen, limit_s)
            rest_s = min(cost_s * _REST, end_s - loop.time())
            await self._changes.rest(rest_s)
            if self._changes.ended.is_set():
                raise stopping()
