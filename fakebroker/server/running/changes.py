"""A queue of the cluster changes that take more than one turn of the loop; they run one by one, in the order of the
calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class ChangeQueue:
    """A queue of changes. `turn` is held by the change in progress. Use it on one event loop."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()

    async def make(self, change: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Make a change when its turn comes. If the caller is cancelled before that, the change is dropped. A change
        that has begun runs to its end, and the next one waits for it."""
        await self.turn.acquire()
        task = asyncio.ensure_future(change())
        task.add_done_callback(lambda _: self.turn.release())
        return await asyncio.shield(task)
