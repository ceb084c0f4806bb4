"""What a log's bytes say of its transactions: the rules once more, from the first batch on, with nothing of the broker.

Theory   A transaction begins in a partition with the first transactional batch of a producer that has none open there,
         and ends with the mark of that producer. Below a watermark everything is decided up to where the first
         transaction begins whose mark is not below it: the last stable offset. A reader of what is committed is given
         all below that, and told of the aborted transactions of which there is a record in it; it leaves these out.
Units    offsets count records; `watermark` and `stable` are the first offsets that are not below.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fakebroker.protocol.batch_layout import RECORD_BATCH_OVERHEAD
from fakebroker.protocol.record_batch import decode_records, read_batch_header

_TYPE = struct.Struct(">hh")  # of a control record's key: version, type
_COMMITS = 1


class Batch(NamedTuple):
    """`commits` is None if it is no mark; `values` is empty if it is one."""

    base: int
    last: int
    producer_id: int
    is_transactional: bool
    commits: bool | None
    values: tuple[bytes, ...]


class Span(NamedTuple):
    """A transaction in a log; `end` is where its mark stands, None if there is none."""

    producer_id: int
    first: int
    end: int | None
    commits: bool


def batches_in(data: bytes) -> list[Batch]:
    """Of what a Fetch gave, or a log. The last one of a Fetch may be cut off: it counts for nothing."""
    found, at = [], 0
    while len(data) - at >= RECORD_BATCH_OVERHEAD:
        header = read_batch_header(data, at)
        if len(data) - at < header.size_in_bytes:
            break
        records = decode_records(data[at : at + header.size_in_bytes])
        commits, values = None, tuple(record.value or b"" for record in records)
        if header.is_control:
            commits, values = _TYPE.unpack(records[0].key or b"")[1] == _COMMITS, ()
        found.append(
            Batch(header.base_offset, header.last_offset, header.producer_id, header.is_transactional, commits, values)
        )
        at += header.size_in_bytes
    return found


def committed(batches: Iterable[Batch], aborted: Iterable[tuple[int, int]], at: int = 0) -> list[tuple[int, bytes]]:
    """Offset and value of what a reader keeps, from `at` on, of what it was given: what a client does with the list of
    aborted transactions, each a producer id and where it begins."""
    waiting = sorted(aborted, key=lambda each: each[1])
    open_now: set[int] = set()
    kept: list[tuple[int, bytes]] = []
    for batch in batches:
        while waiting and waiting[0][1] <= batch.last:
            open_now.add(waiting.pop(0)[0])
        if batch.commits is not None:
            open_now.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in open_now):
            kept += [each for each in enumerate(batch.values, batch.base) if each[0] >= at]
    return kept


class LogOracle:
    """Of one log, as it stands."""

    def __init__(self, data: bytes) -> None:
        self.batches = batches_in(data)
        self.spans = _spans(self.batches)

    def stable(self, watermark: int) -> int:
        """The last stable offset."""
        open_there = [span.first for span in self.spans if span.end is None or span.end >= watermark]
        return min([watermark, *open_there])

    def aborted(self, offset: int) -> set[tuple[int, int]]:
        """Those whose mark does not lie before the offset: producer id, and where it begins."""
        return {
            (span.producer_id, span.first)
            for span in self.spans
            if not span.commits and span.end is not None and span.end >= offset
        }

    def committed(self, offset: int, to: int) -> list[tuple[int, bytes]]:
        """Offset and value of every record there whose transaction is committed, or that belongs to none."""
        kept = []
        for batch in self.batches:
            if batch.commits is None and (not batch.is_transactional or self._commits(batch)):
                kept += [each for each in enumerate(batch.values, batch.base) if offset <= each[0] < to]
        return kept

    def _commits(self, batch: Batch) -> bool:
        for span in self.spans:
            if span.producer_id == batch.producer_id and span.first <= batch.base:
                if span.end is None:
                    return False
                if batch.base < span.end:
                    return span.commits
        return False


def _spans(batches: Sequence[Batch]) -> list[Span]:
    spans: list[Span] = []
    begun: dict[int, int] = {}
    for batch in batches:
        if batch.commits is not None:
            first = begun.pop(batch.producer_id, None)
            if first is not None:
                spans.append(Span(batch.producer_id, first, batch.base, batch.commits))
        elif batch.is_transactional:
            begun.setdefault(batch.producer_id, batch.base)
    return spans + [Span(producer_id, first, None, False) for producer_id, first in begun.items()]
