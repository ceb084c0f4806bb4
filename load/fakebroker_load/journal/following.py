"""The state that a reader of the journal keeps between events: the peers of connections, and the time.

Theory   Events are in the order in which they happened. A request has the time at which it is handled, so times of
         requests do not decrease, except by 1 ms (fakebroker's core/journal/events.py). A journal in which they go back
         further is not in order, and proves nothing about before and after. Times of other events prove nothing: an
         event of a timer has the timer's deadline, and on a busy machine requests were handled in between.
"""

from __future__ import annotations

from collections.abc import Mapping

from fakebroker_load.journal.lines import ConnectionClosed, ConnectionOpened, JournalEvent, Request
from fakebroker_load.journal.taps import JournalGap

MAY_GO_BACK_MS = 1


class Peers:
    """The peers of connections."""

    def __init__(self, known: Mapping[int, str] | None = None) -> None:
        self.known = dict(known or {})

    def see(self, event: JournalEvent) -> str | None:
        """Take in the next event; if it is a request, return the peer of its connection."""
        match event:
            case Request():
                return self.known.get(event.connection)
            case ConnectionOpened():
                self.known[event.connection] = event.peer or ""
            case ConnectionClosed():
                self.known.pop(event.connection, None)
        return None


class RequestOrder:
    """The order of requests. `first_ms` and `last_ms` are the times of the first and the last request."""

    def __init__(self) -> None:
        self.first_ms: int | None = None
        self.last_ms: int | None = None
        self._first_seq = 0

    def see(self, seq: int, event: JournalEvent) -> None:
        """Take in the next event and its place. Raises JournalGap for a request that is earlier than the one before."""
        if isinstance(event, Request):
            if self.first_ms is None:
                self.first_ms, self._first_seq = event.mono_ms, seq
            else:
                check(self.last_ms, event.mono_ms, seq)
            self.last_ms = event.mono_ms

    def check_behind(self, before: RequestOrder) -> None:
        """Check the first request here against the last one of `before`, as `see` does."""
        if self.first_ms is not None:
            check(before.last_ms, self.first_ms, self._first_seq)


def check(before_ms: int | None, now_ms: int, seq: int) -> None:
    if before_ms is not None and now_ms < before_ms - MAY_GO_BACK_MS:
        raise JournalGap(f"it is not in order: at {seq:,} the time goes back by {before_ms - now_ms:,} ms")
