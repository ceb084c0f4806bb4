"""From a frame to its handler, and from the answer back to the connection.

Theory   Header first: its first four bytes decide how to read the rest. What cannot be read closes the connection with
         a reason; the one exception is an ApiVersions request of a version that is not served, which is answered in a
         layout that every client can read (KIP-511). A handler that fails answers with the error of its request.
Source   core/.../network/SocketServer.scala processCompletedReceives; clients/.../requests/RequestContext.java;
         core/.../server/KafkaApis.scala handle; RequestHandlerHelper.scala handleError @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from fakebroker.apis import api_versions, registry
from fakebroker.apis.context import (
    FetchCallback,
    FetchParams,
    FetchPartition,
    Message,
    NewTopic,
    OffsetQuery,
    ProduceCallback,
    RequestContext,
    TimestampAndOffset,
    TopicView,
)
from fakebroker.core.clock import Now
from fakebroker.core.connection import Connection, Event, State
from fakebroker.core.effects import Close, Effect, InternalError, Send
from fakebroker.core.replica_manager import ReplicaManager
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError, ProtocolError
from fakebroker.protocol.headers import RequestHeader, decode_request_header, peek_api
from fakebroker.protocol.messages import api_name, decode_request, encode_response, is_flexible
from fakebroker.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from fakebroker.core.cluster import Cluster


class Dispatcher:
    """Hands the requests of all connections to their handlers."""

    def __init__(
        self, cluster: Cluster, emit: Callable[[Effect], None], on_answered: Callable[[Connection], None]
    ) -> None:
        self._cluster = cluster
        self._emit = emit
        self._on_answered = on_answered
        self._apis = registry.load()

    def handle(self, connection: Connection, frame: bytes, now: Now) -> None:
        """Handle one request of a connection that is READY."""
        connection.on(Event.REQUEST)
        try:
            header, api = self._read_header(frame)
            context = _Context(self, connection, header, now)
            if not api.serves(header.api_version):
                if api.key == api_versions.KEY:
                    api_versions.respond_unsupported_version(context)
                    return
                raise ProtocolError(
                    f"{api.name} v{header.api_version} is not served, only v{api.min_version} to v{api.max_version}."
                )
            request = decode_request(api.key, header.api_version, frame, header.body_offset)
        except ProtocolError as error:
            self.close(connection, f"bad request: {error}")
            return
        self._call(api, context, request)

    def _read_header(self, frame: bytes) -> tuple[RequestHeader, registry.Api]:
        api_key, api_version = peek_api(frame)
        api = self._apis.get(api_key)
        if api is None:
            raise ProtocolError(f"API key {api_key} ({api_name(api_key)}) is not served.")
        return decode_request_header(frame, is_flexible(api_key, api_version)), api

    def _call(self, api: registry.Api, context: _Context, request: Message) -> None:
        try:
            api.handle(context, request)
        except KafkaError as error:
            api.error_response(context, request, error.code)
        except Exception as error:
            # A bug of ours must be loud: in the log, and for the client.
            request_id = f"{api.name} v{context.api_version}, correlation id {context.correlation_id}"
            self._emit(InternalError(f"{request_id}, from {context.connection.peer}", error))
            if not context.answered:
                api.error_response(context, request, ErrorCode.unknown_server_error)

    def respond(self, connection: Connection, frame: bytes | None) -> None:
        """The request in hand is answered, with nothing if `frame` is None. Dropped if the peer has gone."""
        if connection.state is State.CLOSED:
            return
        if frame is not None:
            self._emit(Send(connection, frame))
        connection.on(Event.RESPONDED)
        self._on_answered(connection)

    def close(self, connection: Connection, reason: str) -> None:
        if connection.state is State.CLOSED:
            return
        connection.on(Event.CLOSE)
        self._emit(Close(connection, reason))


class _Context(RequestContext):
    """The context of one request: what its handler sees (apis/context.py)."""

    __slots__ = ("_dispatcher", "_header", "_now", "answered", "connection")

    def __init__(self, dispatcher: Dispatcher, connection: Connection, header: RequestHeader, now: Now) -> None:
        self._dispatcher = dispatcher
        self.connection = connection
        self._header = header
        self._now = now
        self.answered = False

    @property
    def broker_id(self) -> int:
        return self.connection.broker_id

    @property
    def api_version(self) -> int:
        return self._header.api_version

    @property
    def client_id(self) -> str:
        return self._header.client_id or ""

    @property
    def correlation_id(self) -> int:
        return self._header.correlation_id

    @property
    def cluster(self) -> Cluster:
        return self._dispatcher._cluster

    @property
    def _replica_manager(self) -> ReplicaManager:
        return self.cluster.nodes[self.broker_id].replica_manager

    def respond(self, response: Message) -> None:
        self.respond_frame(encode_response(response, self.correlation_id))

    def respond_frame(self, frame: bytes) -> None:
        self._answer_once()
        self._dispatcher.respond(self.connection, frame)

    def respond_nothing(self) -> None:
        self._answer_once()
        self._dispatcher.respond(self.connection, None)

    def close(self, reason: str) -> None:
        self._answer_once()
        self._dispatcher.close(self.connection, reason)

    def _answer_once(self) -> None:
        assert not self.answered, f"request {self.correlation_id} of {self.connection.peer} is answered twice"
        self.answered = True

    def create_topics(
        self, topics: Sequence[NewTopic], validate_only: bool = False
    ) -> Sequence[TopicView | KafkaError]:
        return self.cluster.create_topics(topics, self._now, validate_only)

    def new_producer_id(self) -> int:
        return self.cluster.new_producer_id(self.broker_id)

    def append_records(
        self,
        timeout_ms: int,
        required_acks: int,
        internal_topics_allowed: bool,
        entries: Mapping[TopicPartition, bytes],
        callback: ProduceCallback,
    ) -> None:
        self._replica_manager.append_records(
            timeout_ms, required_acks, internal_topics_allowed, entries, callback, self._now
        )

    def delete_topic(self, name: str) -> None:
        self.cluster.controller.delete_topic(name)

    def fetch_messages(
        self, params: FetchParams, partitions: Sequence[FetchPartition], callback: FetchCallback
    ) -> None:
        self._replica_manager.fetch_messages(params, partitions, callback, self._now)

    def fetch_offset(self, query: OffsetQuery) -> TimestampAndOffset:
        return self._replica_manager.fetch_offset(query)

    def last_offset_for_leader_epoch(
        self, topic_partition: TopicPartition, current_leader_epoch: int, leader_epoch: int
    ) -> tuple[int, int]:
        return self._replica_manager.last_offset_for_leader_epoch(topic_partition, current_leader_epoch, leader_epoch)
