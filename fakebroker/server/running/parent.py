"""The parent of a process, which is there as long as it keeps the other end of stdin open."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable

STDIN = 0
_BYTES = 4096


def is_a_pipe(descriptor: int) -> bool:
    """Return True if another process can hold the other end: of a pipe, or of a socket as Node.js makes it."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def when_parent_ends(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    """Call once stdin ends: the parent has closed it, has ended or was killed. What comes there is dropped."""

    def read() -> None:
        try:
            is_over = not os.read(STDIN, _BYTES)
        except BlockingIOError:
            return
        except OSError:  # the socket was reset
            is_over = True
        if is_over:
            loop.remove_reader(STDIN)
            call()

    loop.add_reader(STDIN, read)
