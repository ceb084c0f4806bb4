"""The event loop: uvloop where it exists, plain asyncio elsewhere."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from struct import pack

_RESET = pack("ii", 1, 0)  # struct linger: on, for 0 seconds

new_event_loop: Callable[[], asyncio.AbstractEventLoop]

try:
    import uvloop

    new_event_loop = uvloop.new_event_loop
    NAME = "uvloop"
except ImportError:  # no wheel for this platform or interpreter
    new_event_loop = asyncio.new_event_loop
    NAME = "asyncio"


def gathers(loop: asyncio.AbstractEventLoop) -> bool:
    """Return True if `writelines` passes its parts to the system as they are, and reports when not all was written.

    asyncio joins the parts, or does not report (CPython 3.12.0 to 3.12.8, 3.13.0 and 3.13.1).
    """
    return type(loop).__module__.partition(".")[0] == "uvloop"


def reset(transport: asyncio.Transport) -> None:
    """Close the transport with RST; unwritten bytes are lost."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()
