"""What a reader of the journal keeps from event to event: the peers of connections, and the time.

Theory   The order of events is that in which things happened. Requests have the time at which they are handled, so
         these do not go back; by 1 ms they may (fakebroker's core/journal/events.py). A journal in which they go back
         further is not in order, and what it tells of before and after proves nothing. Nothing follows from the times
         of other events: what a timer does has the timer's time, and on a busy machine requests were handled between.
"""

from __future__ import annotations

from collections.abc import Mapping

from fakebroker_load.journal.lines import ConnectionClosed, ConnectionOpened, Request, Told
from fakebroker_load.journal.taps import JournalGap

MAY_GO_BACK_MS = 1


class Peers:
    """The peer of each connection."""

    def __init__(self, known: Mapping[int, str] | None = None) -> None:
        self.known = dict(known or {})

    def see(self, event: Told) -> str | None:
        """Take in the next event; if it is a request, return the peer of its connection."""
        match event:
            case Request():
                return self.known.get(event.connection)
            case ConnectionOpened():
                self.known[event.connection] = event.peer or ""
            case ConnectionClosed():
                self.known.pop(event.connection, None)
        return None


class InOrder:
    """`first_ms` and `last_ms`: the times of the first and of the last request."""

    def __init__(self) -> None:
        self.first_ms: int | None = None
        self.last_ms: int | None = None
        self._first_seq = 0

    def see(self, seq: int, event: Told) -> None:
        """Take in the next event and its place. Raises JournalGap if it is a request, and earlier than the last one."""
        if isinstance(event, Request):
            if self.first_ms is None:
                self.first_ms, self._first_seq = event.mono_ms, seq
            else:
                check(self.last_ms, event.mono_ms, seq)
            self.last_ms = event.mono_ms

    def check_behind(self, before: InOrder) -> None:
        """As `see`, for the first request here and the last one of `before`."""
        if self.first_ms is not None:
            check(before.last_ms, self.first_ms, self._first_seq)


def check(before_ms: int | None, now_ms: int, seq: int) -> None:
    if before_ms is not None and now_ms < before_ms - MAY_GO_BACK_MS:
        raise JournalGap(f"it is not in order: at {seq:,} the time goes back by {before_ms - now_ms:,} ms")
