"""Told in the log: no more files can be opened, so no more connections come in until others go.

Theory   Kafka's acceptor logs the error of each accept(2) and goes on. Here a loop accepts. uvloop's libuv keeps one
         descriptor in reserve, lets in with it whom it cannot serve, closes that at once, and says nothing to anybody;
         so it is asked at each connection whether that was the last one. Asyncio leaves them in the backlog, tries
         again a second later and tells the loop's exception handler, as many times as the backlog is long.
Source   core/.../network/SocketServer.scala Acceptor.acceptNewConnections @ 4.0; libuv's uv__emfile_trick.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from typing import Any

from fakebroker.server.writing.limited_log import LimitedLog

log = logging.getLogger("fakebroker")

_ERRORS = (errno.EMFILE, errno.ENFILE)
_SENTENCE = (
    "no more files can be opened: this process has as many as it may (ulimit -n); who connects now waits or is turned "
    "away until others go"
)


def tell_if_full(told: LimitedLog, descriptor: int) -> None:
    """Tell it if nothing can be opened beside this descriptor."""
    try:
        os.close(os.dup(descriptor))
    except OSError as error:
        if error.errno in _ERRORS:
            _tell(told)


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
