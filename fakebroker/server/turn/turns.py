"""A wait for turns of the event loop, for work that the loop does by itself."""

from __future__ import annotations

import asyncio


async def turns(count: int) -> None:
    """Let the loop go round `count` times."""
    for _ in range(count):
        await asyncio.sleep(0)
