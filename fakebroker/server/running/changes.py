"""The changes of a cluster that take more than one turn of its loop: one after the other, as they were asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Changes:
    """A queue. `turn` is taken by the change that is being made. Use it on one event loop."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()

    async def make(self, change: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Make a change when its turn comes. If the caller is cancelled before, it is not made; once it has begun it is
        made to its end, and the next one waits for that."""
        await self.turn.acquire()
        task = asyncio.ensure_future(change())
        task.add_done_callback(lambda _: self.turn.release())
        return await asyncio.shield(task)
