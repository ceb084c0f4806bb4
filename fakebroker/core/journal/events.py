"""The events of a cluster: one class per kind. The probe tells them, and the journal has each as a line of JSON.

Theory   Every event has both clocks of its moment (`Now`). Times are the caller's, ids are counted from 1 and nothing
         is random. So the same calls of the core give the same lines, byte for byte. Events are in the order in which
         they happened, but on the real clock `mono_ms` may go back. An event of a timer has the time of the timer's
         deadline. If the broker wakes up late, it has handled requests with later times before. `TimerFired` has both
         times; on a busy machine they differ by tens of milliseconds. All other times go back by 1 ms at most: stamps
         are rounded up, and reached times are rounded down. A request has one `Request`, then further events with the
         same number, and at last one `Answer`. There is no `Answer` if its connection was closed before, or its broker
         stopped. A reader that is too slow gets gaps, and a `Dropped` for each; the journal in memory has no gaps.
Units    milliseconds of `mono_ms` (origin arbitrary) and `wall_ms` (since 1970); sizes are bytes. `error` is Kafka's
         name, "NONE" for none. Offsets, epochs, sequences and producer ids are -1 where there is none.
JSON     json_lines.py.
More     Events of brokers are in broker_events.py, of groups in group_events.py, of transactions in
         transaction_events.py.
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
    """A client has connected. `peer` is its name as the caller gives it. It may have to wait to be admitted."""

    mono_ms: int
    wall_ms: int
    connection: int
    broker: int
    peer: str


class Login(NamedTuple):
    """A client of a listener with SASL or TLS has authenticated, or was refused. A client that is refused has no
    `principal`; `reason` is why, for the log. `mechanism` is that of SASL, empty if none was chosen. Without SASL the
    certificate of the client gives the principal, User:ANONYMOUS if it has none. A name of more than 1,000 characters
    is cut. `is_again` for a re-authentication."""

    mono_ms: int
    wall_ms: int
    connection: int
    broker: int
    listener: str
    mechanism: str
    principal: str
    error: str
    reason: str
    is_again: bool


class ConnectionClosed(NamedTuple):
    """A connection is gone. `reason` is empty if the peer closed it."""

    mono_ms: int
    wall_ms: int
    connection: int
    broker: int
    reason: str


class Throttled(NamedTuple):
    """A quota mutes a connection for so long from now. The response comes next."""

    mono_ms: int
    wall_ms: int
    connection: int
    broker: int
    throttle_time_ms: int


class Request(NamedTuple):
    """A request is about to be handled: its header is read, its body is not yet. Its last byte came at
    `received_mono_ms`; later requests of its connection wait. `principal` is the client's, as in its Login."""

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
    principal: str = "User:ANONYMOUS"


class Produce(NamedTuple):
    """The contents of a Produce request: (topic, partition) in its order, with the topic id of an unknown topic."""

    mono_ms: int
    wall_ms: int
    request: int
    acks: int
    timeout_ms: int
    transactional_id: str | None
    partitions: tuple[tuple[str, int], ...]


class Append(NamedTuple):
    """The result of appending a batch.

    After an error nothing was appended and both offsets are -1. With `is_duplicate` nothing was appended either: the
    offsets are those of the first time. acks=all needs a high watermark of `last_offset + 1`. It has not moved yet.
    `records` are fingerprints, one for each record in order: of its key, value and headers, without its time.
    Equal records have equal ones in every journal. A refused batch has them too, unless it could not be read. A batch
    of more than 10,000 records or 16 MiB has none. The subject is the batch as it came.
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
    """A Produce or Fetch is parked in the purgatory, until `deadline_mono_ms` at the latest. Time that is skipped
    meanwhile (`clock="auto"`) is added to the deadline of a Fetch. The subject is the delayed operation, here and in
    Completed and Expired."""

    mono_ms: int
    wall_ms: int
    request: int
    api: str
    timeout_ms: int
    deadline_mono_ms: int


class Completed(NamedTuple):
    """The condition of a parked request holds, or can no longer hold: see its errors. Its response comes next."""

    mono_ms: int
    wall_ms: int
    request: int


class Expired(NamedTuple):
    """The timeout of a parked request is over. Its response comes next."""

    mono_ms: int
    wall_ms: int
    request: int


class PartitionAnswer(NamedTuple):
    """The result of a Produce for one partition."""

    topic: str
    partition: int
    error: str
    base_offset: int


class Answer(NamedTuple):
    """The end of a request; nothing is written yet. `outcome` is "sent", "none" (acks=0 has no response) or "dropped"
    (the peer had gone).

    `partitions` are the results in the response, of a Produce only. `reason` names the faults that acted on the
    request, or the rules of Kafka for the errors of a Produce.
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
    """A topic is created. `replicas` are the broker ids of each partition in order; a LeaderChanged follows for
    each."""

    mono_ms: int
    wall_ms: int
    topic: str
    topic_id: str
    replicas: tuple[tuple[int, ...], ...]


class PartitionsCreated(NamedTuple):
    """A topic has more partitions: from `first` on, with their broker ids; a LeaderChanged follows for each."""

    mono_ms: int
    wall_ms: int
    topic: str
    first: int
    replicas: tuple[tuple[int, ...], ...]


class ReplicasChanged(NamedTuple):
    """A partition has other replicas. During a reassignment they include `adding` and `removing`. If the leader
    changes, a LeaderChanged follows."""

    mono_ms: int
    wall_ms: int
    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class TopicDeleted(NamedTuple):
    """A topic is about to be deleted with all its records; requests parked for it complete then. A later topic of the
    same name starts anew."""

    mono_ms: int
    wall_ms: int
    topic: str


class LeaderChanged(NamedTuple):
    """A new leadership, or none (`leader` is -1, as are the offsets). Records at or above `log_end_offset` are lost.
    The high watermark is the initial one."""

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
    """The in-sync replicas changed within a leadership. They are in assignment order. The high watermark has not moved
    yet."""

    mono_ms: int
    wall_ms: int
    topic: str
    partition: int
    leader_epoch: int
    isr: tuple[int, ...]


class WatermarkMoved(NamedTuple):
    """Everything below `high_watermark` is on all in-sync replicas. Requests parked for it have not completed yet."""

    mono_ms: int
    wall_ms: int
    topic: str
    partition: int
    leader_epoch: int
    high_watermark: int
    log_end_offset: int


class LogStartMoved(NamedTuple):
    """Records below `log_start_offset` were deleted, by retention or for lack of memory."""

    mono_ms: int
    wall_ms: int
    topic: str
    partition: int
    log_start_offset: int


class TimerFired(NamedTuple):
    """Timers ran `tasks` tasks; their events come before this one. The difference to `woken_mono_ms`, at which the
    broker woke up, is its lateness."""

    mono_ms: int
    wall_ms: int
    tasks: int
    woken_mono_ms: int


class Dropped(NamedTuple):
    """A gap of `events` events, because the reader was too slow. The time is that of the first of them."""

    mono_ms: int
    wall_ms: int
    events: int


Event = (
    ConnectionOpened
    | Login
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
