"""The event loops that the server runs on, by name: asyncio's, and uvloop's where it is installed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fakebroker.server import loops

NewLoop = Callable[[], asyncio.AbstractEventLoop]

LOOPS: dict[str, NewLoop] = {"asyncio": asyncio.new_event_loop}
if loops.NAME == "uvloop":
    LOOPS["uvloop"] = loops.new_event_loop
