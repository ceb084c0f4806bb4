"""What a journal tells of transactions: how they go on at their coordinator, and what comes of that in the partitions.

Theory   At the coordinator each change is `TransitionPrepared`, with the reason, and `TransitionCompleted` once it is
         replicated; between the two whoever asks for something else is told CONCURRENT_TRANSACTIONS. One that could not
         be replicated in time is `TransitionFailed`, and may stand in the log all the same. A fence
         (PrepareEpochFence) is never written: the PrepareAbort for which it is comes right behind it.
         After a decision come `MarkersSent` for each leader, `MarkerWritten` for each partition, `MarkersRetried` as
         often as it takes, and the CompleteCommit or CompleteAbort.
         In a partition it is `TransactionBegan` with its first batch, which is an `Append` too, and `MarkerWritten`.
         What a coordinator reads out of its log when it takes over is not told again; its marks are sent again.
Units    as of all events (events.py). Producers are told by id and epoch, partitions as (topic, partition).
"""

from __future__ import annotations

from typing import NamedTuple


class TransitionPrepared(NamedTuple):
    """A transaction is about to go from one state to the next, which is written to __transaction_state now. Producer
    and partitions are those of the next state."""

    mono_ms: int
    wall_ms: int
    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    next_state: str
    partitions: tuple[tuple[str, int], ...]
    reason: str


class TransitionCompleted(NamedTuple):
    """The state is replicated, and holds."""

    mono_ms: int
    wall_ms: int
    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    partitions: tuple[tuple[str, int], ...]


class TransitionFailed(NamedTuple):
    """It was not written, or not replicated in time. The state is the one from before."""

    mono_ms: int
    wall_ms: int
    transactional_id: str
    coordinator: int
    next_state: str
    error: str


class ProducerFenced(NamedTuple):
    """A request of a producer that has another epoch than the one of now was refused."""

    mono_ms: int
    wall_ms: int
    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    current_epoch: int
    api: str


class PartitionsVerified(NamedTuple):
    """A partition's leader (`broker`) was told by the coordinator whether these belong to the transaction, or were
    added to it (`adds`, version 2): (topic, partition, error) of each. What has none is appended next."""

    mono_ms: int
    wall_ms: int
    transactional_id: str
    broker: int
    producer_id: int
    producer_epoch: int
    adds: bool
    partitions: tuple[tuple[str, int, str], ...]


class MarkersSent(NamedTuple):
    """A coordinator asks the leader of these partitions to write a mark to each. `result` is COMMIT or ABORT."""

    mono_ms: int
    wall_ms: int
    transactional_id: str
    coordinator: int
    leader: int
    producer_id: int
    producer_epoch: int
    result: str
    partitions: tuple[tuple[str, int], ...]


class MarkersRetried(NamedTuple):
    """Their marks could not be written, or not be replicated in time; they are sent again in a moment."""

    mono_ms: int
    wall_ms: int
    transactional_id: str
    coordinator: int
    partitions: tuple[tuple[str, int], ...]
    reason: str


class TransactionBegan(NamedTuple):
    """The first batch of a transaction stands in a partition, at `first_offset`. Who reads what is committed reads
    nothing from there on until its mark is replicated."""

    mono_ms: int
    wall_ms: int
    broker: int
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    first_offset: int


class MarkerWritten(NamedTuple):
    """The mark of a transaction stands in a partition, and is not replicated yet. `result` is COMMIT or ABORT."""

    mono_ms: int
    wall_ms: int
    broker: int
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    result: str
    offset: int


class StableOffsetMoved(NamedTuple):
    """Who reads what is committed (isolation.level=read_committed) reads up to `last_stable_offset`. It is told of
    partitions with transactions, whenever it moves and at each new leadership; elsewhere it is the watermark.
    `first_unstable_offset` is -1 if there is none; `open_transactions` have no mark in the log."""

    mono_ms: int
    wall_ms: int
    topic: str
    partition: int
    leader_epoch: int
    last_stable_offset: int
    first_unstable_offset: int
    open_transactions: int


class OffsetsPending(NamedTuple):
    """A transaction has committed offsets of a group, which hold once it is committed itself: (topic, partition,
    offset) of each."""

    mono_ms: int
    wall_ms: int
    group: str
    member: str
    generation: int
    producer_id: int
    producer_epoch: int
    offsets: tuple[tuple[str, int, int], ...]


class PendingOffsetsEnded(NamedTuple):
    """The mark is written, and they are committed, unless somebody has committed others since, or dropped: (group,
    topic, partition, offset) of each. `result` is COMMIT or ABORT."""

    mono_ms: int
    wall_ms: int
    producer_id: int
    producer_epoch: int
    result: str
    offsets: tuple[tuple[str, str, int, int], ...]


TransactionEvent = (
    TransitionPrepared
    | TransitionCompleted
    | TransitionFailed
    | ProducerFenced
    | PartitionsVerified
    | MarkersSent
    | MarkersRetried
    | TransactionBegan
    | MarkerWritten
    | StableOffsetMoved
    | OffsetsPending
    | PendingOffsetsEnded
)
