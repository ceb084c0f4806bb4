"""An event loop with virtual time."""

from __future__ import annotations

import asyncio
from typing import Any


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that jumps in time where asyncio would wait for a timer; waiting for ever is an error."""

    _selector: Any  # asyncio's own
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000.0
        self.turns = 0
        real_select = self._selector.select

        def select(timeout: float | None) -> Any:
            assert timeout is not None, "nothing will ever happen"
            self.turns += 1
            self.now += max(timeout, 0)
            return real_select(0)

        self._selector.select = select

    def time(self) -> float:
        return self.now
