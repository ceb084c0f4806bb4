"""The log of what peers cause: some lines of a kind in each second, and how many more there were."""

from __future__ import annotations

import asyncio
import logging

from fakebroker.server.writing.log_text import printable

MOST_IN_A_SECOND = 10
_SECOND_S = 1.0

_Kind = tuple[int, str]  # level and format


class LimitedLog:
    """Used on one event loop. Lines of a kind have the same format; texts in it are shown as `printable` does."""

    def __init__(self, log: logging.Logger, loop: asyncio.AbstractEventLoop) -> None:
        self._log = log
        self._loop = loop
        self._counts: dict[_Kind, int] = {}  # of this second
        self._unshown: dict[_Kind, tuple[int, str]] = {}  # how many of those are not shown, and the last one
        self._timer: asyncio.TimerHandle | None = None

    def info(self, form: str, *values: object) -> None:
        self.tell(logging.INFO, form, *values)

    def warning(self, form: str, *values: object) -> None:
        self.tell(logging.WARNING, form, *values)

    def tell(self, level: int, form: str, *values: object, most: int = MOST_IN_A_SECOND) -> None:
        """A line of the log; one more is counted instead, if there were so `most` of its kind in this second."""
        if not self._log.isEnabledFor(level):
            return
        line = form % tuple(printable(value) if isinstance(value, str) else value for value in values)
        kind = level, form
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        if count <= most:
            self._log.log(level, "%s", line)
        else:
            self._unshown[kind] = count - most, line
        if self._timer is None and not self._loop.is_closed():
            self._timer = self._loop.call_later(_SECOND_S, self.settle)

    def settle(self) -> None:
        """The second is over, or all is: tell what was counted."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for (level, _), (count, line) in self._unshown.items():
            self._log.log(level, "and %d more like it in the last second, the last one: %s", count, line)
        self._counts.clear()
        self._unshown.clear()
