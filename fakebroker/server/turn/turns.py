"""Turns of the event loop, for who has to wait for what it does by itself."""

from __future__ import annotations

import asyncio


async def turns(count: int) -> None:
    """Let the loop go round so many times."""
    for _ in range(count):
        await asyncio.sleep(0)
