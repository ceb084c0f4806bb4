"""The log of what peers cause: some lines of a kind, and how many more there were.

Theory   Lines of a kind have the same format, and the same about what: a reason, whose numbers do not count. Ten of a
         kind are shown in a second, the others are counted, and their number is told when the second is over. While
         such a flood goes on the count is told after 2, 4, 8 ... and then 60 seconds, with one line in between: a
         client that connects again and again for an hour is some hundred lines. When a time is over in which there was
         little of a kind, it begins anew.
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
_MOST_KINDS: Final = 100  # of reasons that are told apart
_TICK_S: Final = 1.0
_DIGITS = re.compile(r"\d+")

_Kind = tuple[int, str, str]  # level, format, about what


class _Count:
    """Of one kind, in the time at hand: how many there may be, and were; the last one; how long it is, and goes on."""

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
    """Used on one event loop. Texts in lines are shown as `printable` does."""

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
        """A line of the log; one more is counted instead, if there were so `most` of its kind in this second."""
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
        """All is over: tell what was counted."""
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
        """A second is over."""
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
