"""What a journal tells: one kind of event per class, and each as a line of JSON.

Theory   Every event has both clocks of the moment at which it happened (`Now`). Times are the caller's, ids are counted
         from 1 and nothing is drawn, so the same calls of the core give the same lines, byte for byte. The order of the
         events is the order in which things happened. On the real clock `mono_ms` may go back by 1 ms within it, since
         what happens is stamped rounded up and time that is reached is rounded down.
         A request has one `Request`, then what became of it under the same number, and at last one `Answer`; there is
         none if its connection was closed before, or its broker stopped.
         What is written to somebody who does not read it has gaps, and a `Dropped` for each; what is kept has none.
Units    milliseconds of `mono_ms` (origin arbitrary) and `wall_ms` (since 1970); sizes are bytes. `error` is Kafka's
         name, "NONE" for none. Offsets, epochs, sequences and producer ids are -1 where there is none.
JSON     json_lines.py.
More     broker_events.py has what is told of brokers, group_events.py of groups, transaction_events.py of
         transactions.
"""

from __future__ import annotations

from typing import NamedTuple

from fakebroker.core.journal.broker_events import BrokerEvent
from fakebroker.core.journal.fault_events import FaultEvent
from fakebroker.core.journal.group_events import (
    GenerationBegan,
    GroupStabilized,
    MemberJoined,
    MemberLeft,
    OffsetsCommitted,
    OffsetsExpired,
    RebalanceBegan,
)
from fakebroker.core.journal.transaction_events import TransactionEvent

NO_ERROR = "NONE"


class ConnectionOpened(NamedTuple):
    """A client has connected. `peer` is what the caller calls it."""

    mono_ms: int
    wall_ms: int
    connection: int
    broker: int
    peer: str


class ConnectionClosed(NamedTuple):
    """A connection is gone; `reason` is empty if the peer went."""

    mono_ms: int
    wall_ms: int
    connection: int
    broker: int
    reason: str


class Throttled(NamedTuple):
    """A quota mutes a connection for so long from now."""

    mono_ms: int
    wall_ms: int
    connection: int
    broker: int
    throttle_time_ms: int


class Request(NamedTuple):
    """A request is about to be handled. Its last byte came at `received_mono_ms`; later ones of its connection wait."""

    mono_ms: int
    wall_ms: int
    request: int
    connection: int
    broker: int
    api: str
    version: int
    correlation_id: int
    client_id: str | None
    received_mono_ms: int
    size: int


class Produce(NamedTuple):
    """What a Produce asks for, as far as all of it: (topic, partition) in its order; the id where the topic is not
    known."""

    mono_ms: int
    wall_ms: int
    request: int
    acks: int
    timeout_ms: int
    transactional_id: str | None
    partitions: tuple[tuple[str, int], ...]


class Append(NamedTuple):
    """What came of a batch that was to be appended.

    On an error nothing was appended and both offsets are -1. `is_duplicate`: nothing was appended either, the offsets
    are those of the first time. What is needed to be acknowledged by all is a watermark of `last_offset + 1`.
    `records` are fingerprints, one for each record in order: of its key, its value and its headers, not of its time.
    Equal records have equal ones in every journal. A batch that was refused has them too, unless it
    could not be read. A batch of more than 10,000 records or 16 MiB has none.
    """

    mono_ms: int
    wall_ms: int
    request: int
    broker: int
    topic: str
    partition: int
    error: str
    base_offset: int
    last_offset: int
    is_duplicate: bool
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: tuple[str, ...]


class Parked(NamedTuple):
    """A Produce or Fetch waits in the purgatory, until `deadline_mono_ms` at the latest. What is skipped meanwhile
    (`clock="auto"`) is added to the deadline of a Fetch."""

    mono_ms: int
    wall_ms: int
    request: int
    api: str
    timeout_ms: int
    deadline_mono_ms: int


class Completed(NamedTuple):
    """What a parked request waited for has come (or can come no more: its errors tell)."""

    mono_ms: int
    wall_ms: int
    request: int


class Expired(NamedTuple):
    """The time of a parked request is over."""

    mono_ms: int
    wall_ms: int
    request: int


class PartitionAnswer(NamedTuple):
    """What a Produce was answered for one partition."""

    topic: str
    partition: int
    error: str
    base_offset: int


class Answer(NamedTuple):
    """The end of a request. `outcome` is "sent", "none" (acks=0 has no answer) or "dropped" (the peer had gone).

    `partitions` are what the answer itself says, of a Produce only. `reason` names the faults that acted on it, or of a
    Produce the rules of Kafka that its errors follow.
    """

    mono_ms: int
    wall_ms: int
    request: int
    connection: int
    outcome: str
    size: int
    partitions: tuple[PartitionAnswer, ...]
    reason: str = ""


class TopicCreated(NamedTuple):
    """`replicas` are the broker ids of each partition in order; who leads is told next."""

    mono_ms: int
    wall_ms: int
    topic: str
    topic_id: str
    replicas: tuple[tuple[int, ...], ...]


class PartitionsCreated(NamedTuple):
    """A topic has more partitions: `first` and those behind it, with their broker ids; who leads is told next."""

    mono_ms: int
    wall_ms: int
    topic: str
    first: int
    replicas: tuple[tuple[int, ...], ...]


class ReplicasChanged(NamedTuple):
    """A partition has other replicas. While it is reassigned `adding` and `removing` are among them."""

    mono_ms: int
    wall_ms: int
    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class TopicDeleted(NamedTuple):
    """A topic is gone with all its records. One of the same name made later starts anew."""

    mono_ms: int
    wall_ms: int
    topic: str


class LeaderChanged(NamedTuple):
    """A new leadership, or none (`leader` is -1, as are the offsets). What is at or above `log_end_offset` is lost."""

    mono_ms: int
    wall_ms: int
    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    log_end_offset: int
    high_watermark: int


class IsrChanged(NamedTuple):
    """The in-sync replicas within a leadership, in assignment order."""

    mono_ms: int
    wall_ms: int
    topic: str
    partition: int
    leader_epoch: int
    isr: tuple[int, ...]


class WatermarkMoved(NamedTuple):
    """Everything below `high_watermark` is on all in-sync replicas."""

    mono_ms: int
    wall_ms: int
    topic: str
    partition: int
    leader_epoch: int
    high_watermark: int
    log_end_offset: int


class LogStartMoved(NamedTuple):
    """What lies below `log_start_offset` was deleted, by retention or for lack of memory."""

    mono_ms: int
    wall_ms: int
    topic: str
    partition: int
    log_start_offset: int


class TimerFired(NamedTuple):
    """`tasks` of the timers ran at their time; what they did stands before. The broker was woken at `woken_mono_ms`,
    so it was late by the difference."""

    mono_ms: int
    wall_ms: int
    tasks: int
    woken_mono_ms: int


class Dropped(NamedTuple):
    """So many events would stand here and do not: nobody took what was written. The time is of the first of them."""

    mono_ms: int
    wall_ms: int
    events: int


Event = (
    ConnectionOpened
    | ConnectionClosed
    | Throttled
    | Request
    | Produce
    | Append
    | Parked
    | Completed
    | Expired
    | Answer
    | TopicCreated
    | PartitionsCreated
    | ReplicasChanged
    | TopicDeleted
    | LeaderChanged
    | IsrChanged
    | WatermarkMoved
    | LogStartMoved
    | MemberJoined
    | MemberLeft
    | RebalanceBegan
    | GenerationBegan
    | GroupStabilized
    | OffsetsCommitted
    | OffsetsExpired
    | TransactionEvent
    | FaultEvent
    | BrokerEvent
    | TimerFired
    | Dropped
)
