"""Detection of the end of the parent process, which keeps the other end of stdin open as long as it lives."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable

STDIN = 0
_BYTES = 4096


def is_a_pipe(descriptor: int) -> bool:
    """Return True if another process can hold the other end, as of a pipe or of the sockets that Node.js makes."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def when_parent_ends(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    """Call the function once stdin ends: the parent has closed it, has ended or was killed. Input is dropped."""

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
