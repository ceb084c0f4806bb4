"""Where a journal comes from: the file that `fakebroker serve --journal` writes, or the HTTP control.

Theory   A tap begins where the journal ends when it is made, and gives what has come since then, piece by piece.
         A file keeps all, so it is read after the load and takes nothing from it. The control keeps the last 100,000
         events (one with many records counts as many), and each that is asked for costs the broker time.
Errors   JournalGap: events are missing, and nothing can be concluded from what is not there. JournalError, before the
         load: there is no journal to be had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from msgspec import MsgspecError

from fakebroker_load.journal.lines import Dropped, Told, event_of, read_event
from fakebroker_load.scenario.actions import Ask

PAGE = 200  # events: the broker makes a page in some 5 ms, and does nothing else meanwhile
_READ_BYTES = 1 << 20

Event = tuple[int, Told]  # its place, and what is asked of it


class JournalGap(Exception):
    """Events are missing; the message says why, as the end of a sentence."""


class JournalError(Exception):
    """There is no such journal; the message is for the user."""


class Tap(Protocol):
    name: str  # for the user

    def waiting(self) -> int:
        """How many events must be taken before they are gone; 0 where none ever goes."""

    def take(self, pages: int | None = None) -> Iterator[Event]:
        """All that have come since the last one that was taken, or so many pages of them; but for those of kinds that
        nobody asks for. Raises JournalGap."""


class FileTap:
    """A file of JSON lines that a broker goes on writing; `name` is for the user. Raises JournalError if it cannot be
    read."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.name = name or f"the journal in {path}"
        self.path = path
        try:
            self.at = self.end()  # what stands before it was taken
        except OSError as error:
            raise JournalError(f"--journal {path}: {error.strerror}.") from None

    def waiting(self) -> int:
        return 0

    def take(self, pages: int | None = None) -> Iterator[Event]:
        """The place of an event is where its line begins."""
        try:
            if self.path.stat().st_size < self.at:
                raise JournalGap("the file became shorter during the run")
            with self.path.open("rb") as file:
                file.seek(self.at)
                for line in file:
                    if not line.endswith(b"\n"):
                        return  # the broker has yet to write the rest
                    begin = self.at
                    self.at += len(line)
                    event = known_event(line)
                    if event is not None:
                        yield begin, event
        except OSError as error:
            raise JournalGap(f"the file cannot be read any more ({error.strerror})") from None

    def end(self) -> int:
        """Where the next whole line begins now. Raises OSError."""
        return _behind_last_line(self.path)


class ControlTap:
    """The control's pages. `ask` is as scenario/actions.py has it."""

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


def known_event(line: bytes) -> Told | None:
    """Of a line of a journal; None: nobody asks for its kind. Raises JournalGap."""
    event = _known(read_event, line)
    if isinstance(event, Dropped):
        raise JournalGap(f"the broker left {event.events} events out of the file")
    return event


def _known(reads: Callable[[Any], Told | None], told: bytes | dict[str, Any]) -> Told | None:
    try:
        return reads(told)
    except (MsgspecError, UnicodeDecodeError) as error:
        text = told.decode(errors="replace").strip() if isinstance(told, bytes) else str(told)
        raise JournalGap(f"a line of it is no event ({error}): {text[:80]}") from None


def _behind_last_line(path: Path) -> int:
    """Where the next whole line begins."""
    with path.open("rb") as file:
        at = file.seek(0, 2)
        while at > 0:
            size = min(_READ_BYTES, at)
            file.seek(at - size)
            if (found := file.read(size).rfind(b"\n")) >= 0:
                return at - size + found + 1
            at -= size
    return 0
