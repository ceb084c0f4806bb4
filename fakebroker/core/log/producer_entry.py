"""The state of one idempotent producer in a log, and the producer fields of a batch.

Units    sequences and offsets count records; timestamps are the batches' own, milliseconds since the epoch.
Source   storage/.../log/{ProducerStateEntry,BatchMetadata}.java @ 4.4; clients/.../record/DefaultRecordBatch.java
         incrementSequence.
"""

from __future__ import annotations

from typing import Final, final

from fakebroker.protocol.transaction_records.control_records import EndTransactionMarker
from timingwheel.mypyc import mypyc_attr

NUM_BATCHES_TO_RETAIN: Final = 5
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_COORDINATOR_EPOCH: Final = -1
NO_TRANSACTION: Final = -1
MAX_SEQUENCE: Final = 2**31 - 1
MAX_PRODUCER_EPOCH: Final = 2**15 - 1


def increment_sequence(sequence: int, increment: int) -> int:
    """Return the sequence `increment` records later. 0 follows 2^31 - 1."""
    if sequence > MAX_SEQUENCE - increment:
        return increment - (MAX_SEQUENCE - sequence) - 1
    return sequence + increment


@mypyc_attr(acyclic=True)
@final
class ProducerFields:
    """The producer fields of a batch of an idempotent producer. Its largest timestamp is the one in the log. `marker`
    is the transaction marker, if it is one."""

    __slots__ = (
        "base_sequence", "is_transactional", "marker", "max_timestamp_ms", "producer_epoch", "producer_id",
    )  # fmt: skip

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        max_timestamp_ms: int,
        is_transactional: bool = False,
        marker: EndTransactionMarker | None = None,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.max_timestamp_ms = max_timestamp_ms
        self.is_transactional = is_transactional
        self.marker = marker


@mypyc_attr(acyclic=True)
@final
class BatchMetadata:
    """One of the last batches of a producer."""

    __slots__ = ("first_offset", "first_sequence", "last_offset", "last_sequence", "timestamp_ms")

    def __init__(
        self, first_sequence: int, last_sequence: int, first_offset: int, last_offset: int, timestamp_ms: int
    ) -> None:
        self.first_sequence = first_sequence
        self.last_sequence = last_sequence
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.timestamp_ms = timestamp_ms


@final
class ProducerStateEntry:
    """The state of one producer id. `batches` are the last ones of its epoch, oldest first. The start of its open
    transaction is NO_TRANSACTION if none is open."""

    __slots__ = ("batches", "coordinator_epoch", "current_txn_first_offset", "last_timestamp_ms", "producer_epoch")

    def __init__(self, producer_epoch: int, batches: list[BatchMetadata], last_timestamp_ms: int) -> None:
        self.producer_epoch = producer_epoch
        self.batches = batches
        self.last_timestamp_ms = last_timestamp_ms
        self.coordinator_epoch = NO_COORDINATOR_EPOCH
        self.current_txn_first_offset = NO_TRANSACTION

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def add_batch(self, producer_epoch: int, batch: BatchMetadata) -> None:
        """Record an appended batch. A new epoch drops the batches of the old one."""
        if producer_epoch != self.producer_epoch:
            self.producer_epoch = producer_epoch
            self.batches.clear()
        elif len(self.batches) == NUM_BATCHES_TO_RETAIN:
            del self.batches[0]
        self.batches.append(batch)
        self.last_timestamp_ms = batch.timestamp_ms

    def end_transaction(self, producer_epoch: int, coordinator_epoch: int, timestamp_ms: int) -> None:
        """Record an appended transaction marker. Sequences go on, unless the epoch is new."""
        if producer_epoch != self.producer_epoch:
            self.producer_epoch = producer_epoch
            self.batches.clear()
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_first_offset = NO_TRANSACTION
        self.last_timestamp_ms = timestamp_ms
