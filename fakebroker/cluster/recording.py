"""Who writes the journal: the classes that do the work, each with a word about it.

Theory   A cluster with a journal is built of these classes, one without of those that they extend: so a journal that
         is off costs nothing. They change nothing of what happens; they look before and after.
         What is told of an answer is read from its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

from fakebroker.apis import registry
from fakebroker.apis.context import (
    FetchCallback,
    FetchParams,
    FetchPartition,
    Message,
    ProduceCallback,
    ProduceResults,
)
from fakebroker.cluster.dispatcher import Dispatcher, _Context
from fakebroker.cluster.recorder import LENGTH_BYTES, Recorder, Trail
from fakebroker.cluster.recording_partitions import RecordingController
from fakebroker.core.clock import HasNow, Now
from fakebroker.core.controller.controller import Controller
from fakebroker.core.journal import events
from fakebroker.core.journal.journal import Journal
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.network.connection import Connection
from fakebroker.network.effects import Close, Effect
from fakebroker.network.socket_server import SocketServer
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.headers import RequestHeader
from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.messages import decode_response
from fakebroker.protocol.topic_partition import TopicPartition

_PRODUCE = 0
_NO_TOPIC_ID = UUID(int=0)
_NO_TRAIL = Trail(0)

Results = TypeVar("Results")


class Parts(NamedTuple):
    """The classes that a cluster is built of."""

    controller: Callable[..., Controller] = Controller
    dispatcher: Callable[..., Dispatcher] = Dispatcher
    replica_manager: Callable[..., ReplicaManager] = ReplicaManager
    socket_server: Callable[..., SocketServer] = SocketServer


def parts(journal: Journal | None, clock: HasNow) -> Parts:
    """Those that write the journal, or, without one, those that do not."""
    if journal is None:
        return Parts()
    recorder = Recorder(journal, clock)
    return Parts(
        partial(RecordingController, recorder),
        partial(RecordingDispatcher, recorder),
        partial(RecordingReplicaManager, recorder),
        partial(RecordingSocketServer, recorder),
    )


class RecordingSocketServer(SocketServer):
    """Connections that come and go, what they are answered, and for how long they are muted."""

    def __init__(self, recorder: Recorder, broker_ids: Any, config: Any, timer: Any, emit: Any, *rest: Any) -> None:
        self._recorder = recorder

        def emit_recorded(effect: Effect) -> None:
            if isinstance(effect, Close):
                self._closed(effect.connection, effect.reason)
            emit(effect)

        super().__init__(broker_ids, config, timer, emit_recorded, *rest)

    def open(self, broker_id: int, peer: str, address: str) -> Connection:
        connection = super().open(broker_id, peer, address)
        self._recorder.trail(connection)
        return connection

    def receive(self, connection: Connection, data: bytes | memoryview) -> None:
        if not connection.is_closed:
            trail = self._recorder.trail(connection)
            trail.came += len(data)
            trail.arrivals.append((trail.came, self._recorder.now.mono_ms))
        super().receive(connection, data)

    def lost(self, connection: Connection) -> None:
        if not connection.is_closed:
            self._closed(connection, "")
        super().lost(connection)

    def answer(self, connection: Connection, frame: bytes | None) -> None:
        trail = self._recorder.trail(connection)
        outcome = "none" if frame is None else "dropped" if connection.is_closed else "sent"
        partitions = _partitions(trail, frame) if frame is not None and trail.api_key == _PRODUCE else ()
        size = 0 if frame is None else len(frame) - LENGTH_BYTES
        self._recorder.record(events.Answer, trail.request, trail.number, outcome, size, partitions)
        super().answer(connection, frame)

    def throttle(self, connection: Connection, throttle_time_ms: int) -> None:
        if not connection.is_closed:
            trail = self._recorder.trail(connection)
            self._recorder.record(events.Throttled, trail.number, connection.broker_id, throttle_time_ms)
        super().throttle(connection, throttle_time_ms)

    def _closed(self, connection: Connection, reason: str) -> None:
        trail = self._recorder.trail(connection)
        self._recorder.record(events.ConnectionClosed, trail.number, connection.broker_id, reason)


def _partitions(trail: Trail, frame: bytes) -> tuple[events.PartitionAnswer, ...]:
    response: Message = decode_response(_PRODUCE, trail.api_version, frame[LENGTH_BYTES:])[1]
    return tuple(
        events.PartitionAnswer(
            _topic_name(trail, topic), partition.index, kafka_name(partition.error_code), partition.base_offset
        )
        for topic in response.responses
        for partition in topic.partition_responses
    )


def _topic_name(trail: Trail, topic: Message) -> str:
    if trail.api_version < 13:
        return str(topic.name)
    topic_id = topic.topic_id or _NO_TOPIC_ID
    return trail.topic_names.get(topic_id, str(topic_id))


class RecordingDispatcher(Dispatcher):
    """Requests, and what a Produce asks for."""

    def __init__(self, recorder: Recorder, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._recorder = recorder
        self._connection: Connection  # while a request is handled
        self._trail = _NO_TRAIL

    def handle(self, connection: Connection, frame: bytes | LargeFrame, now: Now) -> None:
        self._connection = connection
        try:
            super().handle(connection, frame, now)
        finally:
            del self._connection
            self._trail = _NO_TRAIL

    def _read_header(self, frame: bytes, size: int) -> tuple[RequestHeader, registry.Api]:
        header, api = super()._read_header(frame, size)
        self._trail = self._recorder.begin(self._connection, header, size)
        return header, api

    def _call(self, api: registry.Api, context: _Context, request: Message) -> None:
        if api.key == _PRODUCE:
            trail = self._trail
            if trail.api_version >= 13:
                known = {topic.topic_id: context.cluster.topic_by_id(topic.topic_id) for topic in request.topic_data}
                trail.topic_names = {topic_id: topic.name for topic_id, topic in known.items() if topic is not None}
            self._recorder.record(
                events.Produce,
                trail.request,
                request.acks,
                request.timeout_ms,
                request.transactional_id,
                tuple(
                    (_topic_name(trail, topic), partition.index)
                    for topic in request.topic_data
                    for partition in topic.partition_data
                ),
            )
        super()._call(api, context, request)


class RecordingReplicaManager(ReplicaManager):
    """Requests that wait, and how that ends."""

    def __init__(self, recorder: Recorder, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._recorder = recorder
        self._advancing = False

    def append_records(
        self,
        timeout_ms: int,
        required_acks: int,
        internal_topics_allowed: bool,
        entries: dict[TopicPartition, bytes],
        callback: ProduceCallback,
        now: Now,
    ) -> None:
        wait = _Wait(self._recorder, callback, _has_timed_out)
        super().append_records(timeout_ms, required_acks, internal_topics_allowed, entries, wait.end, now)
        wait.park("Produce", timeout_ms)

    def fetch_messages(
        self, params: FetchParams, partitions: Sequence[FetchPartition], callback: FetchCallback, now: Now
    ) -> None:
        wait = _Wait(self._recorder, callback, lambda _: self._advancing)
        super().fetch_messages(params, partitions, wait.end, now)
        wait.park("Fetch", params.max_wait_ms)

    def advance_clock(self, now_ms: int) -> int:
        self._advancing = True
        try:
            return super().advance_clock(now_ms)
        finally:
            self._advancing = False


class _Wait(Generic[Results]):
    """The callback of a request that may have to wait."""

    __slots__ = ("_callback", "_has_expired", "_is_over", "_is_parked", "_recorder", "_request")

    def __init__(
        self, recorder: Recorder, callback: Callable[[Results], None], has_expired: Callable[[Results], bool]
    ) -> None:
        self._recorder = recorder
        self._request = recorder.request
        self._callback = callback
        self._has_expired = has_expired
        self._is_parked = False
        self._is_over = False

    def park(self, api: str, timeout_ms: int) -> None:
        """The request was handled as far as can be; it waits unless that was all."""
        if not self._is_over:
            self._is_parked = True
            deadline_ms = self._recorder.now.mono_ms + max(timeout_ms, 0)
            self._recorder.record(events.Parked, self._request, api, timeout_ms, deadline_ms)

    def end(self, results: Results) -> None:
        """All is decided."""
        self._is_over = True
        if self._is_parked:
            kind = events.Expired if self._has_expired(results) else events.Completed
            self._recorder.record(kind, self._request)
        self._callback(results)


def _has_timed_out(results: ProduceResults) -> bool:
    return any(response.error_code == ErrorCode.request_timed_out for response in results.values())
