"""The journal of the time of one run, as Parquet.

Theory   Before the first request of a run and behind its last one goes a request of our own, on a connection of its
         own: a mark. What the journal has between the two is the run's, however the broker's clock stands to ours;
         and if both are there and nothing is missing in between, then what the journal does not tell did not happen.
         Without that nothing can be concluded from it, and the run is judged two ways: the requests and the log.
         The marks also show that it is this cluster's journal, and that it knows our connections by the addresses
         that they have here; and how the broker's clock stands to ours, since a mark is received after it was sent and
         before it was answered.
         While the load runs, events are left where they are until KEPT_FOR_LATER are waiting, and then taken page by
         page with a pause behind each: who asks a broker for its journal as fast as it can holds up the load. Above
         HURRY there is no choice.
Shape    `with JournalWindow(tap, broker, run, folder) as window:` around load and read-back; then `window.found`.
         One event is held at a time, and ROWS_AT_ONCE rows of each kind. The file has them kind by kind, in no order:
         each has its place, `seq`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from fakebroker_load.control import ControlError
from fakebroker_load.journal.lines import JOURNAL_SCHEMA, ConnectionClosed, ConnectionOpened, Request, Rows
from fakebroker_load.journal.taps import JournalGap, Tap
from fakebroker_load.log import Asker
from fakebroker_load.wire.client import WireError

LOOK_EVERY_S = 0.25
PAUSE_S = 0.02
KEPT_FOR_LATER = 30_000
HURRY = 60_000
SEEN_WITHIN_S = 10.0
POLL_S = 0.05
ROWS_AT_ONCE = 5_000

Address = tuple[str, int]
Mark = tuple[str, int]  # our address, and the correlation id


@dataclass(frozen=True)
class Found:
    """Of a run's journal: how many rows; or why there is none, as the end of a sentence. `ahead_us`: the broker's clock
    is ahead of our time.monotonic by so much, at least and at most."""

    rows: int = 0
    why_not: str | None = None
    ahead_us: tuple[int, int] | None = None


class JournalWindow:
    """`path` is the Parquet file that is written, and not there if `found.why_not` says so."""

    def __init__(self, tap: Tap, broker: Address, run: str, path: Path, seen_within_s: float = SEEN_WITHIN_S) -> None:
        self.found = Found(why_not="the run did not get to its end")
        self._tap = tap
        self._broker = broker
        self._run = run
        self._path = path
        self._seen_within_s = seen_within_s
        self._lock = threading.Lock()
        self._rows = Rows(run)
        self._is_over = False  # both marks were seen: what comes now is no longer the run's
        self._count = 0
        self._added = 0
        self._gap: str | None = None
        self._peers: dict[int | None, str] = {}  # who is at the other end of each connection
        self._asked: dict[Mark, int] = {}  # marks that the journal tells of, and when they were received, in its ms
        self._marks: dict[Mark, tuple[int, int]] = {}  # when each was sent and answered, in our microseconds

    @contextmanager
    def open(self) -> Iterator[JournalWindow]:
        """Around the load and what reads the log back."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        ended = threading.Event()
        with pq.ParquetWriter(self._path, JOURNAL_SCHEMA) as writer:
            self._writer = writer
            self._mark()
            thread = threading.Thread(target=self._watch, args=(ended,), name="journal", daemon=True)
            thread.start()
            try:
                yield self
                ended.set()
                thread.join()
                self._mark()
                self._await_marks()
                self._write()
            finally:
                ended.set()
                thread.join()
                self._conclude()

    def _conclude(self) -> None:
        if self._gap is None and len(self._marks) == 2:
            self.found = Found(self._count, ahead_us=self._ahead_us())
        else:
            if self._gap is not None:
                self.found = Found(why_not=self._gap)
            with suppress(OSError):
                self._path.unlink()

    def _mark(self) -> None:
        try:
            with Asker(*self._broker) as asker:
                sent_us = time.monotonic_ns() // 1000
                mark = asker.local, asker.probe()
                self._marks[mark] = sent_us, time.monotonic_ns() // 1000
        except WireError as error:
            self._gap = f"{error}"

    def _ahead_us(self) -> tuple[int, int]:
        """By both marks; the broker's milliseconds are whole ones."""
        both = [(self._asked[mark] * 1000, *times_us) for mark, times_us in self._marks.items()]
        least = max(received_us - 1000 - answered_us for received_us, _, answered_us in both)
        return least, min(received_us - sent_us for received_us, sent_us, _ in both)

    def _watch(self, ended: threading.Event) -> None:
        self._pause_s = LOOK_EVERY_S
        while not ended.wait(self._pause_s):
            self._guarded(self._relieve)

    def _relieve(self) -> None:
        waiting = self._tap.waiting()
        self._pause_s = 0.0 if waiting > HURRY else PAUSE_S if waiting > KEPT_FOR_LATER else LOOK_EVERY_S
        if waiting > KEPT_FOR_LATER:
            self._take(pages=1)

    def _await_marks(self, sleep: Callable[[float], None] = time.sleep) -> None:
        deadline = time.monotonic() + self._seen_within_s
        while self._gap is None:
            self._guarded(self._take)
            if self._asked.keys() >= self._marks.keys():
                return
            if time.monotonic() > deadline:
                seen = sum(mark in self._asked for mark in self._marks)
                self._gap = f"{self._tap.name} tells {'not all' if seen else 'nothing'} of what this run sent"
            sleep(POLL_S)

    def _guarded(self, do: Callable[[], None]) -> None:
        """A journal that cannot be had any more is no reason to end the run."""
        with self._lock:
            if self._gap is None:
                try:
                    do()
                except JournalGap as gap:
                    self._gap = str(gap)
                except (ControlError, KeyError, TypeError, ValueError) as error:
                    self._gap = f"{self._tap.name} fails: {error}"

    def _take(self, pages: int | None = None) -> None:
        for seq, event in self._tap.take(pages):
            if self._is_over:
                return
            peer: str | None = None
            match event:
                case Request():
                    peer = self._peers.get(event.connection)
                    if event.api == "ApiVersions":
                        self._look_for_mark(event, peer)
                case ConnectionOpened():
                    self._peers[event.connection] = event.peer or ""
                case ConnectionClosed():
                    self._peers.pop(event.connection, None)
            if not self._asked:
                continue  # it was before the run
            self._rows.add(seq, event, peer)
            self._added += 1
            if self._added % ROWS_AT_ONCE == 0:
                self._write(ROWS_AT_ONCE)

    def _look_for_mark(self, event: Request, peer: str | None) -> None:
        mark = (peer or "", event.correlation_id)
        if mark in self._marks:
            self._asked[mark] = event.received_mono_ms
            self._is_over = len(self._marks) == 2 and self._asked.keys() >= self._marks.keys()

    def _write(self, at_least: int = 1) -> None:
        for table in self._rows.tables(at_least):
            self._writer.write_table(table)
            self._count += len(table)
