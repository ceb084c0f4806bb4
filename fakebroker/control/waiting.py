"""Waits for events in a cluster, without polling, and with a limit.

Theory   A waiting request checks its condition in slices, and again after each event or change over HTTP; the more a
         check costs, the less often. It ends when the condition holds, or at a limit: one by the broker's clock, one by
         the machine's.
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

MAX_WAITING = 200  # at a time, per cluster
_REST = 10  # pause between two checks, as a multiple of the duration of a check


class ChangeSignal:
    """A signal to all waiting requests that something may have changed, with a count. `ended` is set when no more
    changes come: the cluster is about to stop."""

    def __init__(self) -> None:
        self.count = 0
        self.ended = asyncio.Event()
        self._waiting: set[asyncio.Future[None]] = set()

    def tell(self) -> None:
        """Signal a change."""
        self.count += 1
        if self._waiting:
            for waiting in self._waiting:
                if not waiting.done():
                    waiting.set_result(None)
            self._waiting.clear()

    def end(self) -> None:
        """Signal that no more changes come."""
        self.ended.set()
        self.tell()

    async def next(self, seen: int, limit_s: float) -> None:
        """Return when something has changed since the count was `seen`, or at the limit."""
        if self.count != seen:
            return
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await asyncio.wait((waiting,), timeout=max(limit_s, 0))
        finally:
            self._waiting.discard(waiting)

    async def rest(self, limit_s: float) -> None:
        """Return at the limit, or when no more changes come."""
        if limit_s > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.ended.wait(), limit_s)


class Waiting:
    """The waits of one cluster. `elapsed_ms` is its clock; `goes` says if that runs by itself."""

    def __init__(self, changes: ChangeSignal, work: SlicedWork, elapsed_ms: Callable[[], int], goes: bool) -> None:
        self._changes = changes
        self._work = work
        self._elapsed_ms = elapsed_ms
        self._goes = goes
        self.count = 0

    async def until(self, look: Look[T], timeout_ms: int, timeout_wall_ms: int) -> T | None:
        """Return the first result of `look` that is not None; None at a limit. Raises ControlError if too many requests
        wait, and if the cluster stops."""
        if self.count >= MAX_WAITING:
            raise ControlError(429, "TOO_MANY", f"this cluster has {MAX_WAITING} waiting requests already")
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
            result, cost_s = await self._work.measure(slices)
            if result is not None:
                return result
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
