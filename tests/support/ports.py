"""Free ports for tests that must name one."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack

from support.watchdog import LIMIT_S

LOWEST, HIGHEST = 20_000, 30_000  # below those that the system hands out by itself
APART = 60


def free_ports(count: int) -> int:
    """Return the first of some ports in a row. Processes search different ranges, so that two of them find no port in
    common."""
    begin = os.getpid() * APART % (HIGHEST - LOWEST)
    for offset in range(0, HIGHEST - LOWEST, count):
        first = LOWEST + (begin + offset) % (HIGHEST - LOWEST)
        with ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    stack.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return first
    raise AssertionError("no free ports")


def can_listen(address: str) -> bool:
    """Return True if this system has the address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        socket.create_server((address, 0), family=family).close()
    except OSError:
        return False
    return True


def is_open(port: int, host: str = "127.0.0.1") -> bool:
    """Return True if a connection is accepted there."""
    try:
        socket.create_connection((host, port), timeout=LIMIT_S).close()
    except ConnectionRefusedError:
        return False
    return True
