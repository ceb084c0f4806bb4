"""The event loop: uvloop where it exists, plain asyncio elsewhere."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from struct import pack

_RESET = pack("ii", 1, 0)  # struct linger: linger, for no time

new_event_loop: Callable[[], asyncio.AbstractEventLoop]

try:
    import uvloop

    new_event_loop = uvloop.new_event_loop
    NAME = "uvloop"
except ImportError:  # no wheel for this platform or interpreter
    new_event_loop = asyncio.new_event_loop
    NAME = "asyncio"


def gathers(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether its `writelines` hands its parts to the system as they are, and tells when not all was written. That of
    asyncio puts them together, or forgets to tell (CPython 3.12.0 to 3.12.8, 3.13.0 and 3.13.1)."""
    return type(loop).__module__.partition(".")[0] == "uvloop"


def reset(transport: asyncio.Transport) -> None:
    """Close it with RST: what is not written by now is lost."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()
