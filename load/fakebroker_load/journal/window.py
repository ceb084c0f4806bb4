"""The journal of one run, taken from a tap during the run, as Parquet.

Theory   The events between the two marks of the run (marks.py) are kept. During the load, events are left alone until
         KEPT_FOR_LATER are waiting. Then they are taken page by page, with a pause after each, since steady requests
         for the journal delay the load. Above HURRY there is no pause.
Shape    `with JournalWindow(tap, broker, run, folder) as window:` around load and read-back; then `window.found`. In
         memory are one event, and ROWS_AT_ONCE rows of each kind. The file is sorted by kind, not by `seq`. A journal
         in a file is read after the load instead (file_window.py).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow.parquet as pq

from fakebroker_load.journal.following import Peers, RequestOrder
from fakebroker_load.journal.lines import JOURNAL_SCHEMA, Rows
from fakebroker_load.journal.marks import SEEN_WITHIN_S, Address, JournalMarks
from fakebroker_load.journal.taps import Tap

LOOK_EVERY_S = 0.25
PAUSE_S = 0.02
KEPT_FOR_LATER = 30_000
HURRY = 60_000
ROWS_AT_ONCE = 5_000


class JournalWindow:
    """The journal of one run. `path` is the Parquet file; it is missing if `found.why_not` is set."""

    def __init__(self, tap: Tap, broker: Address, run: str, path: Path, seen_within_s: float = SEEN_WITHIN_S) -> None:
        self._marks = JournalMarks(broker, tap.name)
        self.found = self._marks.found(0)
        self._tap = tap
        self._path = path
        self._seen_within_s = seen_within_s
        self._rows = Rows(run)
        self._peers = Peers()
        self._order = RequestOrder()
        self._count = 0

    @contextmanager
    def open(self) -> Iterator[JournalWindow]:
        """Record the journal of the block: the load, and the read-back of the log."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        ended = threading.Event()
        with pq.ParquetWriter(self._path, JOURNAL_SCHEMA) as writer:
            self._writer = writer
            self._marks.send()
            thread = threading.Thread(target=self._watch, args=(ended,), name="journal", daemon=True)
            thread.start()
            try:
                yield self
                ended.set()
                thread.join()
                self._marks.send()
                self._marks.await_both(self._take, self._seen_within_s)
                self._write()
            finally:
                ended.set()
                thread.join()
                self._conclude()

    def _conclude(self) -> None:
        self.found = self._marks.found(self._count)
        if self.found.why_not is not None:
            with suppress(OSError):
                self._path.unlink()

    def _watch(self, ended: threading.Event) -> None:
        self._pause_s = LOOK_EVERY_S
        while not ended.wait(self._pause_s):
            self._marks.guarded(self._relieve)

    def _relieve(self) -> None:
        waiting = self._tap.waiting()
        self._pause_s = 0.0 if waiting > HURRY else PAUSE_S if waiting > KEPT_FOR_LATER else LOOK_EVERY_S
        if waiting > KEPT_FOR_LATER:
            self._take(pages=1)

    def _take(self, pages: int | None = None) -> None:
        for seq, event in self._tap.take(pages):
            if self._marks.is_over:
                return
            peer = self._peers.see(event)
            self._order.see(seq, event)
            self._marks.see(event, peer)
            if not self._marks.has_begun:
                continue  # before the run
            self._rows.add(seq, event, peer)
            if self._rows.added % ROWS_AT_ONCE == 0:
                self._write(ROWS_AT_ONCE)

    def _write(self, at_least: int = 1) -> None:
        for table in self._rows.tables(at_least):
            self._writer.write_table(table)
            self._count += len(table)
