"""The limit of open files: near it new connections are closed until others go, and the log says so.

Theory   Kafka's acceptor logs the error of each accept(2) and goes on. Here the loop accepts. With uvloop, libuv keeps
         one descriptor in reserve. It accepts with it a connection that it cannot serve, and closes that at once
         without a report. Plain asyncio leaves connections in the backlog and tries again a second later. It calls the
         loop's exception handler as many times as the backlog is long. So, once many files are open, each new
         connection is checked: if too few descriptors are left, it is closed. The reserve is for existing connections:
         the first request of its kind imports a module.
Source   core/.../network/SocketServer.scala Acceptor.acceptNewConnections @ 4.0; libuv's uv__emfile_trick.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
from typing import Any

from fakebroker.protocol.codec.loading import files_to_load
from fakebroker.server.writing.limited_log import LimitedLog

log = logging.getLogger("fakebroker")

_NEAR = 256  # files that other parts of the process may have opened since
_SPARE = 4  # an import opens two at a time
_ERRORS = (errno.EMFILE, errno.ENFILE)
_SENTENCE = (
    "no more files can be opened: this process has as many as it may (ulimit -n); new connections wait or are closed "
    "again, until others go"
)


class Files:
    """The number of files that this process may open. Each new connection is checked against it."""

    def __init__(self, limited_log: LimitedLog) -> None:
        self._told = limited_log
        self._limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._highest = 0  # the highest descriptor of a connection: the system assigns the lowest that is free

    def are_short(self, descriptor: int) -> bool:
        """Return True if too few descriptors are left beside this connection's; log it then."""
        self._highest = max(self._highest, descriptor)
        if self._limit - self._highest > _NEAR:  # the full check takes a tenth of the time of a connect
            return False
        spare = []
        try:
            for _ in range(_SPARE):
                spare.append(os.dup(descriptor))
        except OSError as error:
            if error.errno in _ERRORS:
                _tell(self._told)
                return True
        finally:
            for number in spare:
                os.close(number)
        return False


def keep_files(wanted: bool) -> None:
    """Turn the reserve of this process on or off: files for what a request imports, even if more clients connect."""
    files_to_load.keep(_SPARE if wanted else 0)


def tell_of_no_more_files(loop: asyncio.AbstractEventLoop) -> None:
    """Install a handler that logs the lack of files of a loop in our words, and all else as before."""
    limited_log = LimitedLog(log, loop)

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _ERRORS and "socket" in context:
            _tell(limited_log)
        elif isinstance(error, ValueError) and "_start_serving" in context.get("message", ""):
            log.debug("the listener was closed before it could accept again")  # python/cpython: asyncio tries again
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)


def _tell(limited_log: LimitedLog) -> None:
    limited_log.tell(logging.ERROR, _SENTENCE, most=1)
