"""As many files are open as this process may have: no more connections come in until others go, and the log says so.

Theory   Kafka's acceptor logs the error of each accept(2) and goes on. Here a loop accepts. uvloop's libuv keeps one
         descriptor in reserve, lets in with it whom it cannot serve, closes that at once, and says nothing to anybody.
         Asyncio leaves them in the backlog, tries again a second later and tells the loop's exception handler, as many
         times as the backlog is long. So, once there are many, it is looked at for each connection that comes in
         whether some descriptors are left; if not it is closed. Those are for who is connected: the first request of
         its kind imports a module.
Source   core/.../network/SocketServer.scala Acceptor.acceptNewConnections @ 4.0; libuv's uv__emfile_trick.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
from typing import Any

from fakebroker.protocol.body.loading import files_to_load
from fakebroker.server.writing.limited_log import LimitedLog

log = logging.getLogger("fakebroker")

_NEAR = 256  # files that others have opened since, beside ours
_SPARE = 4  # an import opens two at a time
_ERRORS = (errno.EMFILE, errno.ENFILE)
_SENTENCE = (
    "no more files can be opened: this process has as many as it may (ulimit -n); who connects now waits or is closed "
    "again, until others go"
)


class Files:
    """How many this process may open. Whoever holds connections asks for each."""

    def __init__(self, told: LimitedLog) -> None:
        self._told = told
        self._limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._highest = 0  # number of a connection: the system takes the lowest that is free

    def are_short(self, descriptor: int) -> bool:
        """Whether fewer than some can be opened beside this connection's, which is told then."""
        self._highest = max(self._highest, descriptor)
        if self._limit - self._highest > _NEAR:  # to ask takes as long as a tenth of a connect
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
    """From now on in this process, or no more: files for what a request imports, whoever else comes."""
    files_to_load.keep(_SPARE if wanted else 0)


def tell_of_no_more_files(loop: asyncio.AbstractEventLoop) -> None:
    """Have a loop of our own tell it in this way, and all else in its own."""
    told = LimitedLog(log, loop)

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _ERRORS and "socket" in context:
            _tell(told)
        elif isinstance(error, ValueError) and "_start_serving" in context.get("message", ""):
            log.debug("the listener was closed before it could accept again")  # python/cpython: it tries all the same
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)


def _tell(told: LimitedLog) -> None:
    told.tell(logging.ERROR, _SENTENCE, most=1)
