"""The counts of a cluster, while the control observes it.

Theory   A request's time has Kafka's parts, each from where it can be known:
         | RequestQueueTimeMs   | from its last byte to its handling     | the broker's clock            |
         | LocalTimeMs          | the handling                           | the machine's clock, measured |
         | RemoteTimeMs         | parked in a purgatory                  | the broker's clock            |
         | ThrottleTimeMs       | muted by a quota                       | the throttle time             |
         | ResponseQueueTimeMs  | from the response to handing it over   | the machine's clock, measured |
         | ResponseSendTimeMs   | from there to having written it        | the machine's clock, measured |
         | TotalTimeMs          | the sum of these                       |                               |
         In Kafka a processor takes responses from its queue. Here the server does, at the end of each door, so a
         response waits for the rest of the door's work.
Units    milliseconds, bytes.
Source   core/.../network/RequestChannel.scala updateRequestMetrics; storage/.../log/metrics/BrokerTopicMetrics.java;
         ReplicaManager.scala @ 4.0.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from time import perf_counter
from typing import Final

from fakebroker.control.metrics.histogram import Histogram
from fakebroker.core.journal import events
from fakebroker.core.probe import Listener
from fakebroker.protocol.topic_partition import TopicPartition

QUEUE, LOCAL, REMOTE, THROTTLE, ANSWER_QUEUE, SEND, TOTAL = (
    "RequestQueueTimeMs", "LocalTimeMs", "RemoteTimeMs", "ThrottleTimeMs", "ResponseQueueTimeMs", "ResponseSendTimeMs",
    "TotalTimeMs",
)  # fmt: skip
PARTS: Final = (QUEUE, LOCAL, REMOTE, THROTTLE, ANSWER_QUEUE, SEND, TOTAL)

# Errors of the client, or transient ones: ReplicaManager.appendRecordsToLeader does not count them as failed.
_NOT_FAILED: Final = frozenset(
    (
        "UNKNOWN_TOPIC_OR_PARTITION",
        "NOT_LEADER_OR_FOLLOWER",
        "MESSAGE_TOO_LARGE",
        "RECORD_LIST_TOO_LARGE",
        "CORRUPT_MESSAGE",
        "KAFKA_STORAGE_ERROR",
        "UNKNOWN_TOPIC_ID",
    )
)


class _Timing:
    """The times of a connection's current request."""

    __slots__ = (
        "answer_queue_ms", "api", "begun_s", "broker", "local_ms", "parked_ms", "queue_ms", "remote_ms", "throttle_ms",
    )  # fmt: skip

    def __init__(self, api: str, broker: int, queue_ms: int) -> None:
        self.api = api
        self.broker = broker
        self.queue_ms = queue_ms
        self.begun_s = perf_counter()
        self.local_ms = -1.0
        self.parked_ms = -1
        self.remote_ms = 0
        self.throttle_ms = 0
        self.answer_queue_ms = 0.0


class Meter(Listener):
    """A listener for the points that events do not report in full. The reader of the journal's events reports the
    rest."""

    def __init__(self) -> None:
        # Counts by broker and API.
        self.times: defaultdict[tuple[int, str], dict[str, Histogram]] = defaultdict(
            lambda: {part: Histogram() for part in PARTS}
        )
        self.requests: Counter[tuple[int, str, int]] = Counter()  # and its version
        self.request_bytes: Counter[tuple[int, str]] = Counter()
        self.response_bytes: Counter[tuple[int, str]] = Counter()
        # Counts by broker and topic.
        self.bytes_in: Counter[tuple[int, str]] = Counter()
        self.messages_in: Counter[tuple[int, str]] = Counter()
        self.failed_produce: Counter[tuple[int, str]] = Counter()
        # Counts by broker.
        self.isr_shrinks: Counter[int] = Counter()
        self.isr_expands: Counter[int] = Counter()
        self.elections = 0
        self.connections: dict[int, int] = {}  # the broker of each open connection.
        self._isr: dict[TopicPartition, tuple[int, int]] = {}  # The leader, and the size of the ISR.
        self._in_hand: dict[int, _Timing] = {}  # Current requests by connection.
        self._of_request: dict[int, int] = {}  # The connection of each request.
        self._answered: list[tuple[_Timing, float]] = []  # Responses, and when they were made.
        self._handed_over: list[tuple[_Timing, float]] = []

    # Requests, from the journal's events.

    def begun(self, event: events.Request) -> None:
        self._in_hand[event.connection] = _Timing(event.api, event.broker, event.mono_ms - event.received_mono_ms)
        self._of_request[event.request] = event.connection
        self.connections.setdefault(event.connection, event.broker)
        self.requests[event.broker, event.api, event.version] += 1
        self.request_bytes[event.broker, event.api] += event.size

    def parked_at(self, event: events.Parked) -> None:
        timing = self._in_hand.get(self._of_request.get(event.request, -1))
        if timing is not None:
            timing.local_ms = (perf_counter() - timing.begun_s) * 1000
            timing.parked_ms = event.mono_ms

    def answered_with(self, event: events.Answer) -> None:
        self._of_request.pop(event.request, None)
        timing = self._in_hand.pop(event.connection, None)
        if timing is None:
            return
        now_s = perf_counter()
        if timing.local_ms < 0:
            timing.local_ms = (now_s - timing.begun_s) * 1000
        if timing.parked_ms >= 0:
            timing.remote_ms = event.mono_ms - timing.parked_ms
        self.response_bytes[timing.broker, timing.api] += event.size
        if event.outcome == "sent":
            self._answered.append((timing, now_s))
        else:
            self._count(timing, 0.0)

    def handed_over(self) -> None:
        """Note that the responses so far are handed over to be written."""
        if not self._answered:
            return
        now_s = perf_counter()
        if not self._handed_over:
            asyncio.get_running_loop().call_soon(self._written)  # runs after the door has ended
        for timing, at_s in self._answered:
            timing.answer_queue_ms = (now_s - at_s) * 1000
            self._handed_over.append((timing, now_s))
        self._answered.clear()

    def _written(self) -> None:
        now_s = perf_counter()
        written, self._handed_over = self._handed_over, []
        for timing, at_s in written:
            self._count(timing, (now_s - at_s) * 1000)

    def _count(self, timing: _Timing, send_ms: float) -> None:
        times = self.times[timing.broker, timing.api]
        parts = {
            QUEUE: timing.queue_ms,
            LOCAL: timing.local_ms,
            REMOTE: timing.remote_ms,
            THROTTLE: timing.throttle_ms,
            ANSWER_QUEUE: timing.answer_queue_ms,
            SEND: send_ms,
        }
        for part, ms in parts.items():
            times[part].observe(ms)
        times[TOTAL].observe(sum(parts.values()))

    def forget(self, request: int) -> None:
        """Forget a request that gets no response."""
        connection = self._of_request.pop(request, None)
        if connection is not None:
            self._in_hand.pop(connection, None)

    # Probe points.

    def throttled(self, connection: int, broker_id: int, throttle_time_ms: int) -> None:
        timing = self._in_hand.get(connection)
        if timing is not None:
            timing.throttle_ms = throttle_time_ms

    def connection_opened(self, connection: int, broker_id: int, peer: str) -> None:
        self.connections[connection] = broker_id

    def connection_closed(self, connection: int, broker_id: int, reason: str) -> None:
        self.connections.pop(connection, None)

    def appended(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        leader_epoch: int,
        records: bytes,
        first_offset: int,
        last_offset: int,
        is_duplicate: bool,
    ) -> None:
        if not is_duplicate:
            self.bytes_in[leader_id, topic_partition.topic] += len(records)
            self.messages_in[leader_id, topic_partition.topic] += last_offset - first_offset + 1

    def refused(self, event: events.Append) -> None:
        """Count a failed append, from the journal's events."""
        if event.error not in _NOT_FAILED:
            self.failed_produce[event.broker, event.topic] += 1

    def leader_changed(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        leader_epoch: int,
        isr: Sequence[int],
        log_end_offset: int,
        high_watermark: int,
    ) -> None:
        self.elections += 1
        self._isr[topic_partition] = leader_id, len(isr)

    def isr_is(self, topic_partition: TopicPartition, leader_id: int, size: int) -> None:
        """Note the present ISR of a partition, before any change was observed."""
        self._isr.setdefault(topic_partition, (leader_id, size))

    def isr_changed(self, topic_partition: TopicPartition, leader_epoch: int, isr: Sequence[int]) -> None:
        leader_id, before = self._isr.get(topic_partition, (-1, len(isr)))
        self._isr[topic_partition] = leader_id, len(isr)
        if len(isr) < before:
            self.isr_shrinks[leader_id] += 1
        elif len(isr) > before:
            self.isr_expands[leader_id] += 1

    def topic_deleted(self, name: str) -> None:
        for key in [key for key in self._isr if key.topic == name]:
            del self._isr[key]
