"""The event loop: uvloop where it exists, plain asyncio elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

new_event_loop: Callable[[], asyncio.AbstractEventLoop]

try:
    import uvloop

    new_event_loop = uvloop.new_event_loop
    NAME = "uvloop"
except ImportError:  # no wheel for this platform or interpreter
    new_event_loop = asyncio.new_event_loop
    NAME = "asyncio"
