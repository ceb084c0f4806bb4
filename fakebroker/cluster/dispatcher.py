"""From a frame to its handler, and from the answer back to the connection.

Theory   Header first: its first four bytes decide how to read the rest. What cannot be read closes the connection with
         a reason; the one exception is an ApiVersions request of a version that is not served, which is answered in a
         layout that every client can read (KIP-511). A handler that fails answers with the error of its request.
         Quotas are judged when the answer is built: it goes out at once and says for how long the connection is muted
         (KIP-219).
Source   core/.../network/SocketServer.scala processCompletedReceives; clients/.../requests/RequestContext.java;
         core/.../server/KafkaApis.scala handle; RequestHandlerHelper.scala handleError @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, final

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
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.network.connection import Connection
from fakebroker.network.effects import Effect, InternalError
from fakebroker.network.socket_server import SocketServer
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError, ProtocolError
from fakebroker.protocol.headers import RequestHeader, decode_request_header, peek_api
from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.large_produce import read_large_produce
from fakebroker.protocol.messages import api_name, encode_response, is_flexible
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel.mypyc import mypyc_attr

if TYPE_CHECKING:
    from fakebroker.cluster.cluster import Cluster

_PRODUCE: Final = 0


def _decode(api: registry.Api, header: RequestHeader, frame: bytes | LargeFrame) -> Message:
    if isinstance(frame, LargeFrame):
        if api.key == _PRODUCE:
            request = read_large_produce(header.api_version, frame, header.body_offset)
            if request is not None:
                return request
        frame = frame.join()
    return api.decode(header.api_version, frame, header.body_offset)


@mypyc_attr(allow_interpreted_subclasses=True)
class Dispatcher:
    """Hands the requests of all connections to their handlers."""

    def __init__(self, cluster: Cluster, sockets: SocketServer, emit: Callable[[Effect], None]) -> None:
        self._cluster = cluster
        self._sockets = sockets
        self._emit = emit
        self._apis = registry.load()
        self._flexible: dict[int, bool] = {}  # by what is served: key and version in one number

    def handle(self, connection: Connection, frame: bytes | LargeFrame, now: Now) -> None:
        """Handle one request; the connection is BUSY with it."""
        try:
            header, api = self._begin(frame)
            context = _Context(self, connection, api, header, len(frame), now)
            if not api.min_version <= header.api_version <= api.max_version:
                if api.key == api_versions.KEY:
                    api_versions.respond_unsupported_version(context)
                    return
                raise ProtocolError(
                    f"{api.name} v{header.api_version} is not served, only v{api.min_version} to v{api.max_version}."
                )
            request = _decode(api, header, frame)
        except ProtocolError as error:
            self._sockets.close(connection, f"bad request: {error}")
            return
        self._call(api, context, request)

    def _begin(self, frame: bytes | LargeFrame) -> tuple[RequestHeader, registry.Api]:
        if isinstance(frame, bytes):
            return self._read_header(frame, len(frame))
        try:
            return self._read_header(frame.beginning, len(frame))
        except ProtocolError:  # or else it is just longer than that
            return self._read_header(frame.join(), len(frame))

    def _read_header(self, frame: bytes, size: int) -> tuple[RequestHeader, registry.Api]:
        """The header at the beginning of a request of so many bytes, and who serves it."""
        api_key, api_version = peek_api(frame)
        api = self._apis.get(api_key)
        if api is None:
            raise ProtocolError(f"API key {api_key} ({api_name(api_key)}) is not served.")
        version = api_key << 16 | api_version
        flexible = self._flexible.get(version)
        if flexible is None:
            flexible = is_flexible(api_key, api_version)
            if api.min_version <= api_version <= api.max_version:
                self._flexible[version] = flexible
        return decode_request_header(frame, flexible), api

    def _call(self, api: registry.Api, context: _Context, request: Message) -> None:
        try:
            api.handle(context, request)
        except KafkaError as error:
            if context.answered:
                self._report(api, context, error)
            self._answer_error(api, context, request, error.code)
        except Exception as error:
            # A bug of ours must be loud: in the log, and for the client.
            self._report(api, context, error)
            self._answer_error(api, context, request, ErrorCode.unknown_server_error)

    def _answer_error(self, api: registry.Api, context: _Context, request: Message, code: ErrorCode) -> None:
        if context.answered:
            return
        try:
            api.error_response(context, request, code)
        except Exception as error:
            self._report(api, context, error)
            if not context.answered:
                context.close("a bug in fakebroker: not even an error can be answered")

    def _report(self, api: registry.Api, context: _Context, error: Exception) -> None:
        request_id = f"{api.name} v{context.api_version}, correlation id {context.correlation_id}"
        self._emit(InternalError(f"{request_id}, from {context.peer}", error))


@final
class _Context(RequestContext):
    """The context of one request: what its handler sees (apis/context.py).

    It lets go of its connection when it has answered, because who holds the context may live longer: a delayed
    operation stays on watch lists until they are visited.
    """

    __slots__ = ("_api", "_connection", "_dispatcher", "_now", "_request_bytes", "_throttle_time_ms")

    def __init__(
        self,
        dispatcher: Dispatcher,
        connection: Connection,
        api: registry.Api,
        header: RequestHeader,
        request_bytes: int,
        now: Now,
    ) -> None:
        super().__init__(
            connection.broker_id,
            connection.peer,
            header.api_version,
            header.client_id or "",
            header.correlation_id,
            dispatcher._cluster,
        )
        self._dispatcher = dispatcher
        self._connection: Connection | None = connection
        self._api = api
        self._request_bytes = request_bytes
        self._now = now
        self._throttle_time_ms = -1

    @property
    def answered(self) -> bool:
        return self._connection is None

    @property
    def _replica_manager(self) -> ReplicaManager:
        return self._dispatcher._cluster.nodes[self.broker_id].replica_manager

    def find_partition(self, topic: str, index: int) -> TopicPartition | None:
        partition = self._dispatcher._cluster.controller.find_partition(topic, index)
        return None if partition is None else partition.topic_partition

    def throttle(self, *, produced: bool = False, uses_request_time: bool = True) -> int:
        if self._throttle_time_ms < 0:
            self._throttle_time_ms = 0
            quotas = self._dispatcher._cluster.nodes[self.broker_id].quotas
            if quotas.enabled:
                throttle_time_ms = quotas.record_and_get_throttle_time_ms(
                    self.client_id,
                    self._request_bytes if produced else None,
                    uses_request_time,
                    self._dispatcher._cluster.now.mono_ms,
                )
                if throttle_time_ms > 0 and self._connection is not None:
                    self._throttle_time_ms = throttle_time_ms
                    self._dispatcher._sockets.throttle(self._connection, throttle_time_ms)
        return self._throttle_time_ms

    def respond(self, response: Message, *, exempt: bool = False) -> None:
        throttle_time_ms = 0 if exempt else self.throttle()
        if throttle_time_ms > 0:
            response = self._api.throttled(response, throttle_time_ms)
        self.respond_frame(encode_response(response, self.correlation_id))

    def respond_frame(self, frame: bytes) -> None:
        self._dispatcher._sockets.answer(self._take_connection(), frame)

    def respond_nothing(self) -> None:
        self._dispatcher._sockets.answer(self._take_connection(), None)

    def close(self, reason: str) -> None:
        self._dispatcher._sockets.close(self._take_connection(), reason)

    def _take_connection(self) -> Connection:
        connection, self._connection = self._connection, None
        assert connection is not None, f"request {self.correlation_id} of {self.peer} is answered twice"
        return connection

    def create_topics(
        self, topics: Sequence[NewTopic], validate_only: bool = False
    ) -> Sequence[TopicView | KafkaError]:
        return self._dispatcher._cluster.create_topics(topics, self._now, validate_only)

    def new_producer_id(self) -> int:
        return self._dispatcher._cluster.new_producer_id(self.broker_id)

    def append_records(
        self,
        timeout_ms: int,
        required_acks: int,
        internal_topics_allowed: bool,
        entries: dict[TopicPartition, bytes],
        callback: ProduceCallback,
    ) -> None:
        self._replica_manager.append_records(
            timeout_ms, required_acks, internal_topics_allowed, entries, callback, self._now
        )

    def delete_topic(self, name: str) -> None:
        self._dispatcher._cluster.controller.delete_topic(name)

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
