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
from time import perf_counter
from typing import Final

from fakebroker.control.metrics.histogram import Histogram
from fakebroker.core.journal import events
from fakebroker.core.journal.events import Event
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


class Meter:
    """The counts; `hear` is a listener of the probe."""

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
        # Logins by broker, listener, mechanism, whether they succeeded, and whether the client had a session already.
        self.logins: Counter[tuple[int, str, str, bool, bool]] = Counter()
        self.connections: dict[int, int] = {}  # the broker of each open connection.
        self._isr: dict[TopicPartition, tuple[int, int]] = {}  # The leader, and the size of the ISR.
        self._in_hand: dict[int, _Timing] = {}  # Current requests by connection.
        self._of_request: dict[int, int] = {}  # The connection of each request.
        self._answered: list[tuple[_Timing, float]] = []  # Responses, and when they were made.
        self._handed_over: list[tuple[_Timing, float]] = []

    def hear(self, event: Event, subject: object) -> None:
        """Count an event; the subject of an append is its bytes."""
        match event:
            case events.Request():
                self.begun(event)
            case events.Parked():
                self.parked_at(event)
            case events.Answer():
                self.answered_with(event)
            case events.Append():
                assert isinstance(subject, bytes)
                self.appended(event, len(subject))
            case events.Throttled():
                timing = self._in_hand.get(event.connection)
                if timing is not None:
                    timing.throttle_ms = event.throttle_time_ms
            case events.ConnectionOpened():
                self.connections[event.connection] = event.broker
            case events.ConnectionClosed():
                self.connections.pop(event.connection, None)
            case events.Login():
                has_succeeded = event.error == events.NO_ERROR
                self.logins[event.broker, event.listener, event.mechanism, has_succeeded, event.is_again] += 1
            case events.LeaderChanged():
                self.elections += 1
                self._isr[TopicPartition(event.topic, event.partition)] = event.leader, len(event.isr)
            case events.IsrChanged():
                self.isr_changed(event)
            case events.TopicDeleted():
                for key in [key for key in self._isr if key.topic == event.topic]:
                    del self._isr[key]

    # Requests.

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

    # Others.

    def appended(self, event: events.Append, size: int) -> None:
        if event.error != events.NO_ERROR:
            if event.error not in _NOT_FAILED:
                self.failed_produce[event.broker, event.topic] += 1
        elif not event.is_duplicate:
            self.bytes_in[event.broker, event.topic] += size
            self.messages_in[event.broker, event.topic] += event.last_offset - event.base_offset + 1

    def isr_is(self, topic_partition: TopicPartition, leader_id: int, size: int) -> None:
        """Note the present ISR of a partition, before any change was observed."""
        self._isr.setdefault(topic_partition, (leader_id, size))

    def isr_changed(self, event: events.IsrChanged) -> None:
        topic_partition, size = TopicPartition(event.topic, event.partition), len(event.isr)
        leader_id, before = self._isr.get(topic_partition, (-1, size))
        self._isr[topic_partition] = leader_id, size
        if size < before:
            self.isr_shrinks[leader_id] += 1
        elif size > before:
            self.isr_expands[leader_id] += 1
