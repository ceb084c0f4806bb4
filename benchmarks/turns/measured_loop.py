"""An event loop in a thread of its own that measures its turns.

Units    milliseconds of CPU of the thread, so other programs and the clients do not count.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
_LIMIT_S = 300.0


class MeasuredLoop(asyncio.SelectorEventLoop):
    """An event loop. `longest_ms` is its longest turn since it was last set to 0."""

    longest_ms = 0.0

    def _run_once(self) -> None:
        begun = time.thread_time_ns()
        super()._run_once()  # type: ignore[misc]
        self.longest_ms = max(self.longest_ms, (time.thread_time_ns() - begun) / 1e6)


class LoopThread:
    """A thread that runs coroutines on a measuring loop."""

    def __init__(self) -> None:
        self.loop = MeasuredLoop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="measured", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(_LIMIT_S)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_LIMIT_S)
        self.loop.close()

    @contextmanager
    def measured(self) -> Iterator[list[float]]:
        """Append the longest turn of the block to the list. The garbage collector is off meanwhile. Its pauses come at
        any time, and would count as part of the turn."""
        longest: list[float] = []
        self.run(_some_turns())  # else the end of what was measured before is in it
        gc.collect()
        gc.disable()
        self.loop.longest_ms = 0.0
        try:
            yield longest
            self.run(_some_turns())
            longest.append(self.loop.longest_ms)
        finally:
            gc.enable()


async def _some_turns() -> None:
    """Let the loop do what is left to do."""
    for _ in range(100):
        await asyncio.sleep(0)
