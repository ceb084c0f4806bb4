"""The journal of one run, read from its file after the load, as Parquet. Spark's tasks read it if it is large.

Theory   A file keeps all events, so reading it later costs the load nothing. The search for each mark (marks.py) begins
         where the file ended before the mark was sent. The lines between the marks are cut into slices (slices.py),
         which any task may read. Executors may have another file of that name, or none. So a task first compares the
         last bytes of the run. The driver reads the slices of tasks that find a difference.
Shape    `with FileWindow(tap, broker, run, path, spark) as window:` around load and read-back; then `window.found`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from pyspark.sql import SparkSession

from fakebroker_load.journal.following import Peers
from fakebroker_load.journal.marks import SEEN_WITHIN_S, Address, JournalMarks
from fakebroker_load.journal.slices import Slice, SliceResult, connections, cut, first_gap, read_slice
from fakebroker_load.journal.taps import FileTap, JournalGap, Tap
from fakebroker_load.journal.window import JournalWindow
from fakebroker_load.spark.failures import cancelled_if_left, told

SLICE_BYTES = 32 << 20  # for a task: half a second of one core

WITNESS_BYTES = 256  # includes the second mark, with an address and a time that no other journal has there

T = TypeVar("T")
LastBytes = tuple[int, bytes]  # the last bytes that were read, and their place


class FileWindow:
    """The journal of one run. `path` names the Parquet files; each gets a number. They are missing if `found.why_not`
    is set. Without `spark` the driver reads all."""

    def __init__(
        self,
        tap: FileTap,
        broker: Address,
        run: str,
        path: Path,
        spark: SparkSession | None = None,
        slice_bytes: int = SLICE_BYTES,
        seen_within_s: float = SEEN_WITHIN_S,
    ) -> None:
        self._marks = JournalMarks(broker, tap.name)
        self.found = self._marks.found(0)
        self._tap = tap
        self._run = run
        self._path = path
        self._spark = spark
        self._slice_bytes = slice_bytes
        self._seen_within_s = seen_within_s
        self._peers = Peers()
        self._from = tap.at  # earliest place of the run's events
        self._begin = tap.at  # place of the line of the first mark
        self._behind = tap.at  # earliest place of the second mark
        self._is_damaged = False

    @contextmanager
    def open(self) -> Iterator[FileWindow]:
        """Record the journal of the block: the load, and the read-back of the log."""
        self._marks.send()
        yield self
        self._marks.guarded(self._look_at_the_end)
        self._marks.send()
        self._marks.await_both(self._look, self._seen_within_s)
        read = self._read() if self._marks.is_over or self._is_damaged else []
        self._marks.gap = first_gap(read) or self._marks.gap
        self.found = self._marks.found(sum(part.rows for part in read))
        if self.found.why_not is not None:
            for file in self._path.parent.glob(f"{self._path.stem}-*"):
                file.unlink()
            with suppress(OSError):
                self._path.parent.rmdir()

    def _look_at_the_end(self) -> None:
        with suppress(OSError):  # the search for the marks reports it
            self._behind = self._tap.end()

    def _look(self) -> None:
        """Look for the marks in new lines."""
        try:
            while not self._marks.is_over and self._look_for_the_next():
                pass
        except JournalGap:
            self._is_damaged = True
            raise

    def _look_for_the_next(self) -> bool:
        for at, event in self._tap.take():
            if self._marks.see(event, self._peers.see(event)):
                if not self._marks.is_over:
                    self._begin = at
                    self._tap.at = max(self._tap.at, self._behind)
                return True
        return False

    def _read(self) -> list[SliceResult]:
        """Read all events that the run can have in the file. If a line is damaged, stop at the last line before it."""
        pieces = cut(self._tap.path, self._from, self._tap.at, self._slice_bytes)
        before = self._each(connections, pieces) if len(pieces) > 1 else []
        reading = partial(read_slice, before=before, run=self._run, begin=self._begin, path=self._path)
        return self._each(reading, pieces)

    def _each(self, do: Callable[[Slice], T], pieces: list[Slice]) -> list[T]:
        if self._spark is None or len(pieces) == 1:
            return [do(piece) for piece in pieces]
        spread = self._spark.sparkContext.parallelize(pieces, len(pieces))
        with cancelled_if_left(self._spark), told("reading the journal"):
            results = spread.map(partial(_if_here, do, self._last_bytes())).collect()
        return [do(piece) if result is None else result for result, piece in zip(results, pieces, strict=True)]

    def _last_bytes(self) -> LastBytes:
        at = max(self._from, self._tap.at - WITNESS_BYTES)
        return at, _bytes_at(self._tap.path, at, self._tap.at - at)


def window_of(tap: Tap, broker: Address, run: str, path: Path, spark: SparkSession) -> FileWindow | JournalWindow:
    """Return the window for a run's journal."""
    if isinstance(tap, FileTap):
        return FileWindow(tap, broker, run, path, spark)
    return JournalWindow(tap, broker, run, path)


def _if_here(do: Callable[[Slice], T], last: LastBytes, piece: Slice) -> T | None:
    """Process a slice. Return None if the executor has another file of that name, or none."""
    at, expected = last
    try:
        is_here = _bytes_at(Path(piece.path), at, len(expected)) == expected
    except OSError:
        is_here = False
    return do(piece) if is_here else None


def _bytes_at(path: Path, at: int, size: int) -> bytes:
    with path.open("rb") as file:
        file.seek(at)
        return file.read(size)
