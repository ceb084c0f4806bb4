"""The oracle of a log's transactions: a second version of the rules on the log's bytes, without code of the broker.

Theory   A transaction begins in a partition with the first transactional batch of a producer without an open one, and
         ends with the producer's transaction marker. The last stable offset for a high watermark is the first offset of
         the first transaction without a marker below the watermark. A read_committed reader gets everything below it,
         and the list of aborted transactions with records in it, which it removes itself.
Units    offsets count records; `watermark` and `stable` are exclusive upper bounds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fakebroker.protocol.batch_layout import RECORD_BATCH_OVERHEAD
from fakebroker.protocol.record_batch import decode_records, read_batch_header

_TYPE = struct.Struct(">hh")  # of a control record's key: version, type
_COMMITS = 1


class DecodedBatch(NamedTuple):
    """A batch. For a transaction marker `commits` is not None, and `values` is empty."""

    base: int
    last: int
    producer_id: int
    is_transactional: bool
    commits: bool | None
    values: tuple[bytes, ...]


class Span(NamedTuple):
    """A transaction in a log; `end` is the offset of its marker, None if there is none."""

    producer_id: int
    first: int
    end: int | None
    commits: bool


def batches_in(data: bytes) -> list[DecodedBatch]:
    """Return the batches in the bytes of a Fetch response or a log. A truncated last batch is left out."""
    batches, at = [], 0
    while len(data) - at >= RECORD_BATCH_OVERHEAD:
        header = read_batch_header(data, at)
        if len(data) - at < header.size_in_bytes:
            break
        records = decode_records(data[at : at + header.size_in_bytes])
        commits, values = None, tuple(record.value or b"" for record in records)
        if header.is_control:
            commits, values = _TYPE.unpack(records[0].key or b"")[1] == _COMMITS, ()
        batches.append(
            DecodedBatch(
                header.base_offset, header.last_offset, header.producer_id, header.is_transactional, commits, values
            )
        )
        at += header.size_in_bytes
    return batches


def committed(
    batches: Iterable[DecodedBatch], aborted: Iterable[tuple[int, int]], at: int = 0
) -> list[tuple[int, bytes]]:
    """Return offset and value of the records that a client keeps, from `at` on. `aborted` are the aborted transactions:
    producer id and first offset."""
    waiting = sorted(aborted, key=lambda transaction: transaction[1])
    open_now: set[int] = set()
    kept: list[tuple[int, bytes]] = []
    for batch in batches:
        while waiting and waiting[0][1] <= batch.last:
            open_now.add(waiting.pop(0)[0])
        if batch.commits is not None:
            open_now.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in open_now):
            kept += [record for record in enumerate(batch.values, batch.base) if record[0] >= at]
    return kept


class LogOracle:
    """The transactions of one log, as it is now."""

    def __init__(self, data: bytes) -> None:
        self.batches = batches_in(data)
        self.spans = _spans(self.batches)

    def stable(self, watermark: int) -> int:
        """Return the last stable offset."""
        open_there = [span.first for span in self.spans if span.end is None or span.end >= watermark]
        return min([watermark, *open_there])

    def aborted(self, offset: int) -> set[tuple[int, int]]:
        """Return producer id and first offset of the aborted transactions with a marker at or after this offset."""
        return {
            (span.producer_id, span.first)
            for span in self.spans
            if not span.commits and span.end is not None and span.end >= offset
        }

    def committed(self, offset: int, to: int) -> list[tuple[int, bytes]]:
        """Return offset and value of each record in this range that is committed or in no transaction."""
        kept = []
        for batch in self.batches:
            if batch.commits is None and (not batch.is_transactional or self._commits(batch)):
                kept += [record for record in enumerate(batch.values, batch.base) if offset <= record[0] < to]
        return kept

    def _commits(self, batch: DecodedBatch) -> bool:
        for span in self.spans:
            if span.producer_id == batch.producer_id and span.first <= batch.base:
                if span.end is None:
                    return False
                if batch.base < span.end:
                    return span.commits
        return False


def _spans(batches: Sequence[DecodedBatch]) -> list[Span]:
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
