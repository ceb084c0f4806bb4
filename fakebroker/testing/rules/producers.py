"""The rules of producers in one log in their simplest form: a list of batches.

Rules    The same (first, last) among the last five of its epoch: the old offset. Otherwise it must continue the last
         one (45). A new epoch begins at 0 (45), an old one is refused (47); so is a marker of an old one. A marker of a
         newer epoch begins that epoch.
Source   storage/.../log/{ProducerStateManager,ProducerAppendInfo}.java @ 4.4, as described.
"""

from __future__ import annotations

from collections.abc import Sequence

from fakebroker.testing.messages import ClientBatch, RuleErrorCode
from fakebroker.testing.rules.transactions import LogEntry

CACHED_BATCHES = 5
SEQUENCES = 1 << 31


def check_producer(log: Sequence[LogEntry], batch: ClientBatch) -> tuple[int, int]:
    """Return (error, offset of the duplicate if there is one, else -1)."""
    assert batch.producer is not None
    producer, epoch, first = batch.producer
    known: list[LogEntry] = []  # newest first
    wanted, last_epoch = first, epoch  # if the producer is unknown
    is_known = False
    for logged in reversed(log):
        its = logged.batch.producer
        if its is not None and its[0] == producer:
            if not is_known:
                is_known, last_epoch, wanted = True, its[1], 0
            if its[1] != last_epoch:
                break
            if logged.batch.commits is not None:
                continue
            if not known and epoch <= last_epoch:
                wanted = (its[2] + logged.batch.size) % SEQUENCES
            known.append(logged)
            if len(known) == CACHED_BATCHES or (epoch >= last_epoch and first == wanted):
                break
    for logged in known:
        if epoch == last_epoch and (logged.batch.size, logged.batch.producer) == (batch.size, batch.producer):
            return RuleErrorCode.NONE, logged.base
    if epoch < last_epoch:
        return RuleErrorCode.INVALID_EPOCH, -1
    return (RuleErrorCode.NONE if first == wanted else RuleErrorCode.OUT_OF_ORDER), -1


def is_of_the_past(log: Sequence[LogEntry], marker: ClientBatch) -> bool:
    """Return True if the producer already has a newer epoch than the marker."""
    assert marker.producer is not None
    for logged in reversed(log):
        its = logged.batch.producer
        if its is not None and its[0] == marker.producer[0]:
            return marker.producer[1] < its[1]
    return False
