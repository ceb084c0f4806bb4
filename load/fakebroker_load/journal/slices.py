"""A journal file in slices of a given size. Each slice may be read by a task of its own.

Theory   A line belongs to the slice in which it begins. Its place in the file is its `seq`, which orders all events, so
         no slice needs the number of lines before it. But a slice needs the peers of the connections that are open at
         its start. So the lines about connections are read first, in all slices. Each slice becomes a Parquet file, and
         a summary for the driver. A damaged line ends its slice. The first damaged line of the file is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from uuid import uuid4

import pyarrow.parquet as pq
from msgspec import MsgspecError

from fakebroker.core.journal import events
from fakebroker_load.journal.following import Peers, RequestOrder
from fakebroker_load.journal.lines import JOURNAL_SCHEMA, ConnectionClosed, ConnectionOpened, Rows, read_event
from fakebroker_load.journal.taps import JournalGap, known_event

ROWS_AT_ONCE = 5_000
_OF_CONNECTIONS = b'"connection_'  # in each line about connections, and in few others


@dataclass(frozen=True)
class Slice:
    """The lines that begin at or after `begin` and before `end`. `number` counts the slices of a file from 0."""

    path: str
    number: int
    begin: int
    end: int

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Return each line with its place. Raises JournalGap if lines are missing, OSError."""
        with Path(self.path).open("rb") as file:
            at = max(self.begin - 1, 0)
            file.seek(at)
            if self.begin:
                at += len(file.readline())
            while at < self.end:
                line = file.readline()
                if not line.endswith(b"\n"):
                    raise JournalGap("the file became shorter during the run")
                yield at, line
                at += len(line)


def cut(path: Path, begin: int, end: int, size: int) -> list[Slice]:
    """Return slices of `size` bytes, at least one."""
    starts = range(begin, max(end, begin + 1), size)
    return [Slice(str(path), number, start, min(start + size, end)) for number, start in enumerate(starts)]


Connected = events.ConnectionOpened | events.ConnectionClosed


def connections(piece: Slice) -> list[Connected]:
    """Return the events about connections in a slice, in order. Problems are left to `read_slice`."""
    connected: list[Connected] = []
    with suppress(JournalGap, OSError):
        for _, line in piece.lines():
            if _OF_CONNECTIONS in line:
                with suppress(MsgspecError, UnicodeDecodeError):
                    event = read_event(line)
                    if isinstance(event, (ConnectionOpened, ConnectionClosed)):
                        connected.append(event)
    return connected


@dataclass
class SliceResult:
    """The result of a slice: the number of rows, the times of its first and last request, and its problem."""

    rows: int = 0
    order: RequestOrder = field(default_factory=RequestOrder)
    gap: str | None = None


def read_slice(piece: Slice, before: Sequence[list[Connected]], run: str, begin: int, path: Path) -> SliceResult:
    """Write the rows of a slice to Parquet, from the event at `begin` on. Without rows there is no file. `before` has
    the events about connections of each slice. The slice's number is added to `path`. A second try writes the same
    file."""
    read, rows, peers = SliceResult(), Rows(run), Peers()
    for event in chain.from_iterable(before[: piece.number]):
        peers.see(event)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.stem}-{uuid4().hex}")  # readers of the folder ignore this name
    try:
        with pq.ParquetWriter(unfinished, JOURNAL_SCHEMA) as writer:
            try:
                for at, line in piece.lines():
                    known = known_event(line)
                    if known is None:
                        continue
                    peer = peers.see(known)
                    read.order.see(at, known)
                    if at >= begin:
                        rows.add(at, known, peer)
                        if rows.added % ROWS_AT_ONCE == 0:
                            read.rows += _written(writer, rows, ROWS_AT_ONCE)
            except JournalGap as gap:
                read.gap = str(gap)
            except OSError as error:
                read.gap = f"the file cannot be read any more ({error.strerror})"
            read.rows += _written(writer, rows)
        if read.rows:
            unfinished.replace(path.with_name(f"{path.stem}-{piece.number:05}.parquet"))
    finally:
        unfinished.unlink(missing_ok=True)
    return read


def _written(writer: pq.ParquetWriter, rows: Rows, at_least: int = 1) -> int:
    count = 0
    for table in rows.tables(at_least):
        writer.write_table(table)
        count += len(table)
    return count


def first_gap(reads: list[SliceResult]) -> str | None:
    """Return the first problem of a file's slices."""
    before = RequestOrder()
    for read in reads:
        try:
            read.order.check_behind(before)
        except JournalGap as gap:
            return str(gap)
        if read.gap is not None:
            return read.gap
        if read.order.first_ms is not None:
            before = read.order
    return None
