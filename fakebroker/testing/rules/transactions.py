"""The rules of transactions in one log in their simplest form: a list of batches with transaction markers.

Rules    open      from a producer's first transactional batch without an open transaction to its next marker
         stable    below the high watermark, up to the first transaction of which the marker is not below it
         aborted   the batches of a transaction with an ABORT marker
         producer  a marker of a newer epoch begins that epoch: earlier batches of the producer are forgotten
Units    offsets count records.
Source   the rules of storage/.../log/{ProducerStateManager,UnifiedLog}.java @ 4.4, as described.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fakebroker.testing.messages import ClientBatch


class LogEntry(Protocol):
    """A batch in a log, with its first offset and its end."""

    @property
    def base(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def batch(self) -> ClientBatch: ...


def last_stable_offset(log: Sequence[LogEntry], watermark: int) -> int:
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


def committed(log: Sequence[LogEntry], offset: int, limit: int) -> tuple[bytes, ...]:
    """Return the idents of the batches between that are not aborted. All of them are decided, if needed by markers
    above the limit."""
    kept: list[bytes] = []
    aborting: set[int] = set()  # producers with an ABORT as the next marker, in reverse order
    for entry in reversed(log):
        batch = entry.batch
        if batch.producer is not None and batch.commits is not None:
            (aborting.discard if batch.commits else aborting.add)(batch.producer[0])
        elif batch.producer is not None and batch.is_transactional and batch.producer[0] in aborting:
            continue
        if offset < entry.end <= limit:
            kept.append(batch.ident)
    return tuple(reversed(kept))
