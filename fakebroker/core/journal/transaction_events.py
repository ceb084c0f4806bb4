"""Journal events of transactions: the changes at their coordinator, and their effects in the partitions.

Theory   At the coordinator each change is `TransitionPrepared`, with the reason, and `TransitionCompleted` once it is
         replicated. In between other requests get CONCURRENT_TRANSACTIONS. A change that was not replicated in time is
         `TransitionFailed`, and may be in the log all the same. A fence (PrepareEpochFence) is never written: the
         PrepareAbort that it is for comes right after it. After a decision come `MarkersSent` for each leader and
         `MarkerWritten` for each partition, `MarkersRetried` as often as needed, and the CompleteCommit or
         CompleteAbort. In a partition there are `TransactionBegan` with the first batch, which is an `Append` too, and
         `MarkerWritten`. The state that a coordinator reads from its log when it takes over causes no events; its
         markers are sent again.
Units    as of all events (events.py). Producers are given by id and epoch, partitions as (topic, partition).
"""

from __future__ import annotations

from typing import NamedTuple


def result_of(is_commit: bool) -> str:
    """Return the `result` of an event."""
    return "COMMIT" if is_commit else "ABORT"


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
    """The state is replicated, and valid from now on."""

    mono_ms: int
    wall_ms: int
    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    partitions: tuple[tuple[str, int], ...]


class TransitionFailed(NamedTuple):
    """The next state was not written, or not replicated in time. The state before it stays."""

    mono_ms: int
    wall_ms: int
    transactional_id: str
    coordinator: int
    next_state: str
    error: str


class ProducerFenced(NamedTuple):
    """A request of a producer is about to be refused, because its epoch is not the present one."""

    mono_ms: int
    wall_ms: int
    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    current_epoch: int
    api: str


class PartitionsVerified(NamedTuple):
    """The coordinator has responded to a partition's leader (`broker`). The partitions belong to the transaction, or
    were added to it (`adds`, version 2): (topic, partition, error) of each. Those without an error are appended next.
    """

    mono_ms: int
    wall_ms: int
    transactional_id: str
    broker: int
    producer_id: int
    producer_epoch: int
    adds: bool
    partitions: tuple[tuple[str, int, str], ...]


class MarkersSent(NamedTuple):
    """A coordinator is about to request transaction markers from the leader of these partitions. `result` is COMMIT or
    ABORT."""

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
    """The markers of these partitions could not be written, or not replicated in time; they are sent again soon."""

    mono_ms: int
    wall_ms: int
    transactional_id: str
    coordinator: int
    partitions: tuple[tuple[str, int], ...]
    reason: str


class TransactionBegan(NamedTuple):
    """A partition has the first batch of a transaction, at `first_offset`. Read_committed consumers read nothing from
    there on until the transaction marker is replicated."""

    mono_ms: int
    wall_ms: int
    broker: int
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    first_offset: int


class MarkerWritten(NamedTuple):
    """A partition has the marker of a transaction, which is not replicated yet. `result` is COMMIT or ABORT."""

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
    """Consumers with isolation.level=read_committed read up to `last_stable_offset`. The event comes for partitions
    with transactions, whenever it moves and at each new leadership; elsewhere it is the high watermark.
    `first_unstable_offset` is -1 if there is none; `open_transactions` have no marker in the log."""

    mono_ms: int
    wall_ms: int
    topic: str
    partition: int
    leader_epoch: int
    last_stable_offset: int
    first_unstable_offset: int
    open_transactions: int


class OffsetsPending(NamedTuple):
    """A transaction has committed offsets of a group, which are valid once the transaction is committed: (topic,
    partition, offset) of each."""

    mono_ms: int
    wall_ms: int
    group: str
    member: str
    generation: int
    producer_id: int
    producer_epoch: int
    offsets: tuple[tuple[str, int, int], ...]


class PendingOffsetsEnded(NamedTuple):
    """The marker is written. The pending offsets are committed, unless later ones replaced them, or dropped: (group,
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
