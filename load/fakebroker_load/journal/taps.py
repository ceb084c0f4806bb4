"""Sources of a journal: the file that `fakebroker serve --journal` writes, or the HTTP control.

Theory   A tap begins at the end of the journal, and returns the events that are added later. A file keeps all events,
         so it is read after the load and costs it nothing. The control keeps the last 100,000 events (one with many
         records counts as many), and each page costs the broker time.
Errors   JournalGap: events are missing, so the journal proves nothing about what it lacks. JournalError, before the
         load: there is no journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from msgspec import MsgspecError

from fakebroker_load.journal.lines import Dropped, JournalEvent, event_of, read_event
from fakebroker_load.scenario.actions import Ask

PAGE = 200  # events: the broker needs some 5 ms for a page, and does nothing else meanwhile
_READ_BYTES = 1 << 20

Event = tuple[int, JournalEvent]  # its place, and the fields that are needed


class JournalGap(Exception):
    """Events are missing; the message says why, as the end of a sentence."""


class JournalError(Exception):
    """The journal cannot be used; the message is for the user."""


class Tap(Protocol):
    name: str  # for the user

    def waiting(self) -> int:
        """Return how many events wait to be taken before they are dropped; 0 if none is ever dropped."""

    def take(self, pages: int | None = None) -> Iterator[Event]:
        """Return the events since the last call, or so many pages of them, without kinds that are not needed. Raises
        JournalGap."""


class FileTap:
    """A file of JSON lines to which a broker appends. `name` is for the user. Raises JournalError if the file cannot be
    read."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.name = name or f"the journal in {path}"
        self.path = path
        try:
            self.at = self.end()  # events before the tap are not taken
        except OSError as error:
            raise JournalError(f"--journal {path}: {error.strerror}.") from None

    def waiting(self) -> int:
        return 0

    def take(self, pages: int | None = None) -> Iterator[Event]:
        """Return the events with the places of their lines."""
        try:
            if self.path.stat().st_size < self.at:
                raise JournalGap("the file became shorter during the run")
            with self.path.open("rb") as file:
                file.seek(self.at)
                for line in file:
                    if not line.endswith(b"\n"):
                        return  # the broker has not finished this line
                    begin = self.at
                    self.at += len(line)
                    event = known_event(line)
                    if event is not None:
                        yield begin, event
        except OSError as error:
            raise JournalGap(f"the file cannot be read any more ({error.strerror})") from None

    def end(self) -> int:
        """Return the place of the next whole line. Raises OSError."""
        return _behind_last_line(self.path)


class ControlTap:
    """The pages of the control's journal. `ask` is that of scenario/actions.py."""

    def __init__(self, ask: Ask, url: str) -> None:
        self.name = f"the journal of {url}"
        self._ask = ask
        self._next = int(self._ask("GET", "/v1/journal?limit=1", None)["total"])

    def waiting(self) -> int:
        return int(self._ask("GET", f"/v1/journal?after={self._next}&limit=1", None)["total"]) - self._next

    def take(self, pages: int | None = None) -> Iterator[Event]:
        for _ in count() if pages is None else range(pages):
            page = self._ask("GET", f"/v1/journal?after={self._next}&limit={PAGE}", None)
            if page["total"] < self._next:
                raise JournalGap("the cluster was reset during the run")
            for event in page["events"]:
                if event["seq"] != self._next:
                    raise JournalGap(f"{event['seq'] - self._next} events were gone before they could be taken")
                self._next += 1
                known = _known(event_of, event)
                if known is not None:
                    yield event["seq"], known
            if len(page["events"]) < PAGE:
                return


def known_event(line: bytes) -> JournalEvent | None:
    """Return the event of a line of a journal; None for a kind that is not needed. Raises JournalGap."""
    event = _known(read_event, line)
    if isinstance(event, Dropped):
        raise JournalGap(f"the broker left {event.events} events out of the file")
    return event


def _known(reads: Callable[[Any], JournalEvent | None], line: bytes | dict[str, Any]) -> JournalEvent | None:
    try:
        return reads(line)
    except (MsgspecError, UnicodeDecodeError) as error:
        text = line.decode(errors="replace").strip() if isinstance(line, bytes) else str(line)
        raise JournalGap(f"a line of it is no event ({error}): {text[:80]}") from None


def _behind_last_line(path: Path) -> int:
    """Return the place after the last whole line."""
    with path.open("rb") as file:
        at = file.seek(0, 2)
        while at > 0:
            size = min(_READ_BYTES, at)
            file.seek(at - size)
            if (newline := file.read(size).rfind(b"\n")) >= 0:
                return at - size + newline + 1
            at -= size
    return 0
