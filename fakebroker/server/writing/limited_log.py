"""A log with a limit for each kind of line that peers can cause, and counts of the suppressed lines.

Theory   Lines of a kind have the same format and the same reason, apart from its numbers. Ten of a kind are written in
         a second; the others are counted, and the count is logged at the end of the second. While a flood goes on, the
         next periods are 2, 4, 8 ... and then 60 seconds long, with one line and one count each. So a client that
         reconnects for an hour causes some hundred lines. A period with few lines of a kind resets its limit.
Units    seconds.
"""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Final

from fakebroker.server.writing.log_text import printable

MOST_IN_A_SECOND: Final = 10
LONGEST_S: Final = 60
_MOST_KINDS: Final = 100  # reasons that are distinguished
_TICK_S: Final = 1.0
_DIGITS = re.compile(r"\d+")

_Kind = tuple[int, str, str]  # level, format, reason


class _Count:
    """The count of one kind in the present period: the limit, the lines so far, the last line, the length and the rest
    of the period."""

    __slots__ = ("last", "left_s", "most", "period_s", "seen")

    def __init__(self, most: int, period_s: int) -> None:
        self.most = most
        self.period_s = self.left_s = period_s
        self.seen = 0
        self.last = ""

    @property
    def unshown(self) -> int:
        return max(self.seen - self.most, 0)


class LimitedLog:
    """A limited log on one event loop. Texts in lines are escaped by `printable`."""

    def __init__(self, log: logging.Logger, loop: asyncio.AbstractEventLoop) -> None:
        self._log = log
        self._loop = loop
        self._counts: dict[_Kind, _Count] = {}
        self._timer: asyncio.TimerHandle | None = None

    def info(self, form: str, *values: object, about: str = "") -> None:
        self.tell(logging.INFO, form, *values, about=about)

    def warning(self, form: str, *values: object, about: str = "") -> None:
        self.tell(logging.WARNING, form, *values, about=about)

    def tell(self, level: int, form: str, *values: object, most: int = MOST_IN_A_SECOND, about: str = "") -> None:
        """Log a line, or count it if `most` lines of its kind were logged in this period."""
        if not self._log.isEnabledFor(level):
            return
        line = form % tuple(printable(value) if isinstance(value, str) else value for value in values)
        count = self._count(level, form, about, most)
        count.seen += 1
        if count.seen <= count.most:
            self._log.log(level, "%s", line)
        else:
            count.last = line
        self._start()

    def settle(self) -> None:
        """Log all counts, at the end."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for kind, count in self._counts.items():
            self._tell(kind, count, count.period_s - count.left_s)
        self._counts.clear()

    def _count(self, level: int, form: str, about: str, most: int) -> _Count:
        kind = level, form, _DIGITS.sub("#", about)
        if kind not in self._counts and len(self._counts) >= _MOST_KINDS:
            kind = level, form, ""
        count = self._counts.get(kind)
        if count is None:
            count = self._counts[kind] = _Count(most, 1)
        return count

    def _start(self) -> None:
        if self._timer is None and not self._loop.is_closed():
            self._timer = self._loop.call_later(_TICK_S, self._tick)

    def _tick(self) -> None:
        """Handle the end of a second."""
        self._timer = None
        for kind, count in list(self._counts.items()):
            count.left_s -= 1
            if count.left_s:
                continue
            self._tell(kind, count, count.period_s)
            if count.unshown and count.seen > MOST_IN_A_SECOND // 2:
                self._counts[kind] = _Count(1, min(count.period_s * 2, LONGEST_S))
            else:
                del self._counts[kind]
        if self._counts:
            self._start()

    def _tell(self, kind: _Kind, count: _Count, seconds: int) -> None:
        if count.unshown:
            when = "in the last second" if seconds <= 1 else f"in the last {seconds} seconds"
            self._log.log(kind[0], "and %d more like it %s, the last one: %s", count.unshown, when, count.last)
