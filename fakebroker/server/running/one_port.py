"""A listener on all addresses of a host, with one port for all of them.

Theory   A name such as localhost has an address of each family. The system gives each of them a port of its own when a
         free one is asked for, but clients are told one port, and take any of the addresses.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable

_TRIES = 20  # of ports that are free on one address and taken on another


async def on_one_port(listen: Callable[[int], Awaitable[asyncio.Server]], port: int) -> asyncio.Server:
    """Let `listen` take that port, or, if it is 0, one that is free on all addresses. Raises OSError."""
    for _ in range(_TRIES):
        listener = await listen(port)
        first, *others = (sock.getsockname()[1] for sock in listener.sockets)
        if all(other == first for other in others):
            return listener
        listener.close()
        await listener.wait_closed()
        try:
            return await listen(first)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    raise OSError(errno.EADDRINUSE, f"no port is free on all addresses of the host, in {_TRIES} tries")


def bound_host(host: str) -> str | None:
    """A host as the system is asked to listen on it: None is all addresses of both families, which `::` is for Kafka,
    too."""
    return None if host in ("", "::") else host


def without_brackets(host: str) -> str:
    """An address of IPv6 without the brackets that set it apart from a port."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host
