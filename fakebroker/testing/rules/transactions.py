"""The rules of transactions in one log, as simply as they can be: a list of batches, and marks among them.

Rules    open      from the first transactional batch of a producer that has none open to the mark of that producer
         stable    below the watermark, up to where the first transaction begins whose mark is not below it
         aborted   what stands in a transaction whose mark says so
         producer  a mark of a newer epoch begins that epoch: what the producer wrote before is forgotten
Units    offsets count records.
Source   the rules of storage/.../log/{ProducerStateManager,UnifiedLog}.java @ 4.4, as described.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fakebroker.testing.messages import Batch


class Entry(Protocol):
    """Of a log: where it begins and ends."""

    @property
    def base(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def batch(self) -> Batch: ...


def last_stable_offset(log: Sequence[Entry], watermark: int) -> int:
    opened: dict[int, int] = {}
    for entry in log:
        batch = entry.batch
        if batch.producer is None or not batch.is_transactional:
            continue
        if batch.commits is None:
            opened.setdefault(batch.producer[0], entry.base)
        elif entry.base < watermark:
            opened.pop(batch.producer[0], None)
    return min([watermark, *opened.values()])


def committed(log: Sequence[Entry], offset: int, limit: int) -> tuple[bytes, ...]:
    """What of the batches between is not aborted: their idents. All that is below the limit is decided, if by marks
    above it."""
    kept: list[bytes] = []
    aborting: set[int] = set()  # producers whose next mark, seen from behind, is of an abort
    for entry in reversed(log):
        batch = entry.batch
        if batch.producer is not None and batch.commits is not None:
            (aborting.discard if batch.commits else aborting.add)(batch.producer[0])
        elif batch.producer is not None and batch.is_transactional and batch.producer[0] in aborting:
            continue
        if offset < entry.end <= limit:
            kept.append(batch.ident)
    return tuple(reversed(kept))
