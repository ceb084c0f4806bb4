"""The journal in the user's hand, `kafka.journal.produce(topic="t").expect(error="REQUEST_TIMED_OUT")`, and on disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from os import PathLike
from typing import NamedTuple, TextIO

from fakebroker.core.arguments import STRING_OR_NONE, WHOLE_NUMBER_OR_NONE, require
from fakebroker.core.journal.events import Event, Request, to_json
from fakebroker.core.journal.journal import to_lines
from fakebroker.core.journal.view import ProduceView, view_produce

log = logging.getLogger("fakebroker")

_BUFFER_BYTES = 65_536
_FLUSH_AFTER_S = 0.2


class Snapshot(NamedTuple):
    """The events at one moment, and how many older ones were dropped."""

    events: list[Event]
    dropped: int


class JournalInHand:
    """The last events of the cluster, the oldest first; core/journal/events.py says what each tells.

    Iterating, `len` and every question look at the moment at which they are asked, from any thread, also after the
    cluster was stopped. It starts empty when the cluster does.
    """

    def __init__(self, snapshot: Callable[[], Snapshot], clear: Callable[[], None]) -> None:
        self._snapshot = snapshot
        self._clear = clear

    def __iter__(self) -> Iterator[Event]:
        return iter(self._snapshot().events)

    def __len__(self) -> int:
        return len(self._snapshot().events)

    @property
    def dropped(self) -> int:
        """How many events came before these and are not there any more."""
        return self._snapshot().dropped

    def clear(self) -> None:
        """Forget all events so far."""
        self._clear()

    def produce(
        self, *, topic: str | None = None, partition: int | None = None, client_id: str | None = None
    ) -> ProduceView:
        """What became of the Produce requests, partition by partition; what is left out means all."""
        require(STRING_OR_NONE, topic=topic, client_id=client_id)
        require(WHOLE_NUMBER_OR_NONE, partition=partition)
        events, dropped = self._snapshot()
        return view_produce(events, dropped, topic, partition, client_id)

    def requests(self, *, api: str | None = None, client_id: str | None = None) -> list[Request]:
        """The requests that were handled, of an API by Kafka's name ("Produce", "Metadata") and of a client."""
        require(STRING_OR_NONE, api=api, client_id=client_id)
        return [
            event
            for event in self
            if isinstance(event, Request) and api in (None, event.api) and client_id in (None, event.client_id)
        ]

    def lines(self) -> Iterator[str]:
        """Each event as a line of JSON; `fakebroker.core.journal.from_lines` reads them."""
        return to_lines(self)


class JournalFile:
    """Every event as a line of JSON, in order. What is buffered is written within 0.2 s, or when it is 64 KiB."""

    def __init__(self, path: str | PathLike[str], loop: asyncio.AbstractEventLoop) -> None:
        """Raises OSError if the file cannot be written to. What it held is gone."""
        self._path = path
        self._loop = loop
        self._file: TextIO | None = open(path, "w", buffering=_BUFFER_BYTES, encoding="utf-8")  # noqa: SIM115
        self._flushing: asyncio.TimerHandle | None = None

    def write(self, event: Event) -> None:
        if self._file is None:
            return
        try:
            self._file.write(to_json(event) + "\n")
        except OSError as error:
            self._give_up(error)
        else:
            if self._flushing is None:
                self._flushing = self._loop.call_later(_FLUSH_AFTER_S, self._flush)

    def _flush(self) -> None:
        self._flushing = None
        if self._file is not None:
            try:
                self._file.flush()
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """The cluster goes on without it."""
        log.error("the journal %s ends here: %s", self._path, error.strerror)
        self._close()

    def close(self) -> None:
        """Write what is left, and close the file."""
        self._flush()
        self._close()

    def _close(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError:
                log.debug("the journal %s could not be closed", self._path)
