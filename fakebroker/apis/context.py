"""The context of a request: what its handler sees, and how it responds.

Theory   As in Kafka's KafkaApis, a handler is above the model and calls it: `ctx.replicas`, `ctx.controller`,
         `ctx.metadata`. It responds by exactly one call of `respond`, `respond_in_slices`, `respond_frame`,
         `respond_nothing` or `close`, at once or later.
Source   clients/.../common/requests/RequestContext.java; core/.../server/RequestHandlerHelper.scala @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, final

from fakebroker.core.broker.broker import Broker
from fakebroker.core.clock import Now
from fakebroker.core.controller.controller import Controller
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.controller.producer_ids import ProducerIdManager
from fakebroker.core.groups.coordinator import GroupCoordinator
from fakebroker.core.probe import Probe
from fakebroker.core.quota.controller_mutation import ControllerMutationQuota
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.core.security.acl_binding import CLUSTER_NAME, AclOperation, ResourceType
from fakebroker.core.security.authorized_operations import SUPPORTED_OPERATIONS, operation_bits
from fakebroker.core.security.identity import KafkaPrincipal, Listener
from fakebroker.core.security.java_address import java_address
from fakebroker.core.transactions.service import TransactionService
from fakebroker.network.connection import Connection
from fakebroker.network.socket_server import SocketServer
from fakebroker.protocol.answers.pieces import FrameInPieces
from fakebroker.protocol.messages import encode_response, encode_response_in_slices
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.static.protocol import ResponsePayload

    from fakebroker.protocol.headers import RequestHeader

Throttled = Callable[["ResponsePayload", int], "ResponsePayload"]


@final
class RequestContext:
    """One request.

    broker         the broker that handles it, with all its services
    now            the time of its handling; for a request that is handled in slices, the time of the slice api_version,
                   correlation_id, client_id as the request has them; an empty client id if it has none
    connection     counts the connections, from 1; `peer` names the other side, for logs
    listener       the listener of its connection; `principal` is the authenticated user
    probe          the listeners for events; `trail` is what those of its connection tell
    refusal        why the client may not send the request at all, for the response; empty if it may

    It drops its connection after the response, because the context may live longer: a delayed operation stays on watch
    lists until they are visited.
    """

    __slots__ = (
        "_connection", "_request_bytes", "_sockets", "_throttle_time_ms", "_throttled", "api_version", "broker",
        "client_id", "connection", "correlation_id", "now", "peer", "probe", "refusal", "trail",
    )  # fmt: skip

    def __init__(
        self,
        broker: Broker,
        sockets: SocketServer,
        connection: Connection,
        header: RequestHeader,
        request_bytes: int,
        throttled: Throttled,
        now: Now,
        probe: Probe,
        throttle_time_ms: int = -1,
    ) -> None:
        """`throttled` adds a throttle time in milliseconds to a response. A `throttle_time_ms` is the result of quotas
        that were recorded already."""
        self.broker = broker
        self.now = now
        self.api_version = header.api_version
        self.correlation_id = header.correlation_id
        self.client_id = header.client_id or ""
        self.connection = connection.number
        self.peer = connection.peer
        self.probe = probe
        self.trail = connection.trail
        self.refusal = ""
        self._sockets = sockets
        self._connection: Connection | None = connection
        self._request_bytes = request_bytes
        self._throttled = throttled
        self._throttle_time_ms = throttle_time_ms

    # Services of the broker.

    @property
    def replicas(self) -> ReplicaManager:
        return self.broker.replicas

    @property
    def controller(self) -> Controller:
        return self.broker.controller

    @property
    def metadata(self) -> MetadataCache:
        return self.broker.metadata

    @property
    def producer_ids(self) -> ProducerIdManager:
        return self.broker.producer_ids

    @property
    def groups(self) -> GroupCoordinator:
        return self.broker.groups

    @property
    def transactions(self) -> TransactionService:
        return self.broker.transactions

    @property
    def now_ms(self) -> int:
        """Return the present monotonic milliseconds. If the request has waited, this is later than `now`."""
        return self._sockets.clock.now.mono_ms

    @property
    def client_ms(self) -> int:
        """Return monotonic milliseconds without skipped time, as clients measure them."""
        return self._sockets.clock.client_ms

    # The client, until the response.

    @property
    def listener(self) -> Listener:
        return self._asking.listener

    @property
    def client_host(self) -> str:
        """Return the client's IP address as Kafka writes it, behind a slash."""
        return f"/{java_address(self._asking.address)}"

    @property
    def principal(self) -> KafkaPrincipal:
        return self._asking.principal

    # What the client may do, until the response. Without an authorizer it may do everything.

    def is_authorized(self, operation: AclOperation, kind: ResourceType, name: str) -> bool:
        """Return True if the client may do the operation on this resource."""
        authorizer = self.broker.authorizer
        if authorizer is None:
            return True
        return authorizer.authorize(self.principal, java_address(self._asking.address), operation, kind, name)

    def is_authorized_for_cluster(self, operation: AclOperation) -> bool:
        return self.is_authorized(operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def is_authorized_by_type(self, operation: AclOperation, kind: ResourceType) -> bool:
        """Return True if the client may do the operation on any resource of the type."""
        authorizer = self.broker.authorizer
        if authorizer is None:
            return True
        host = java_address(self._asking.address)
        return authorizer.authorize_by_resource_type(self.principal, host, operation, kind)

    def later_check(self, operation: AclOperation, kind: ResourceType) -> Callable[[str], bool] | None:
        """Return the check whether the client may do the operation on a resource of the type, by its name. It holds
        after the response too. None without an authorizer."""
        authorizer = self.broker.authorizer
        if authorizer is None:
            return None
        principal, host = self.principal, java_address(self._asking.address)
        return lambda name: authorizer.authorize(principal, host, operation, kind, name)

    def authorized_operations(self, kind: ResourceType, name: str) -> int:
        """Return the operations that the client may do on the resource, as bits."""
        supported = SUPPORTED_OPERATIONS[kind]
        if self.broker.authorizer is None:
            return operation_bits(supported)
        return operation_bits(operation for operation in supported if self.is_authorized(operation, kind, name))

    @property
    def is_token_authenticated(self) -> bool:
        """True if the client has authenticated with a delegation token."""
        return self._asking.by_token

    @property
    def software(self) -> tuple[str, str]:
        """Return name and version of the client, "unknown" if it has not sent them."""
        return self._asking.software

    def tell_software(self, name: str, version: str) -> None:
        """Store name and version of the client; empty ones reset them."""
        self._asking.software = name or "unknown", version or "unknown"

    def watch(self) -> Callable[[], bool]:
        """Return a function that says, also after the response, if the client is still connected."""
        connection = self._asking
        return lambda: not connection.is_closed

    @property
    def _asking(self) -> Connection:
        assert self._connection is not None, f"request {self.correlation_id} has a response already"
        return self._connection

    # The response.

    @property
    def answered(self) -> bool:
        return self._connection is None

    def throttle(
        self,
        *,
        produced: bool = False,
        fetched_bytes: int | None = None,
        uses_request_time: bool = True,
        at_least_ms: int = 0,
    ) -> int:
        """Record what the request used against its client's quotas. That is its bytes if it `produced`, those of the
        response if it fetched, and its time unless it is exempt. `at_least_ms` is the controller's throttle time. If a
        quota is violated, mute the connection from now on, and return the milliseconds for the response; else return 0.
        Usage is recorded once: later calls return the same."""
        if self._throttle_time_ms < 0:
            self._throttle_time_ms = 0
            quotas = self.broker.quotas
            connection = self._connection
            if (quotas.enabled or at_least_ms > 0) and connection is not None:
                throttle_time_ms = quotas.record_and_get_throttle_time_ms(
                    connection.principal.name,
                    self.client_id,
                    self._request_bytes if produced else None,
                    fetched_bytes,
                    uses_request_time,
                    self._sockets.clock.now.mono_ms,
                )
                throttle_time_ms = max(throttle_time_ms, at_least_ms)
                if throttle_time_ms > 0:
                    self._throttle_time_ms = throttle_time_ms
                    self._sockets.throttle(connection, throttle_time_ms)
        return self._throttle_time_ms

    def mutation_quota(self, strict_since: int) -> ControllerMutationQuota:
        """Return the quota for topics and partitions to create and delete; `strict` from that version on."""
        manager = self.broker.client_quotas.controller_mutation
        is_strict = self.api_version >= strict_since
        return manager.new_quota_for(self.principal.name, self.client_id, is_strict, self.now_ms)

    def respond(self, response: ResponsePayload, *, exempt: bool = False) -> None:
        """Respond with a kio message, with a throttle time if the request quota says so and it is not `exempt`."""
        self.respond_frame(encode_response(self._as_throttled(response, exempt), self.correlation_id))

    def respond_in_slices(self, response: ResponsePayload, *, exempt: bool = False) -> Slices[None]:
        """Respond in slices with a large kio message, best built lazily: `yield from` it, or return it."""
        frame = yield from encode_response_in_slices(self._as_throttled(response, exempt), self.correlation_id)
        self.respond_frame(frame)

    def _as_throttled(self, response: ResponsePayload, exempt: bool) -> ResponsePayload:
        throttle_time_ms = 0 if exempt else self.throttle()
        return self._throttled(response, throttle_time_ms) if throttle_time_ms > 0 else response

    def respond_frame(self, frame: bytes | FrameInPieces) -> None:
        """Respond with a frame that is already encoded; call `throttle` before. Pieces are not joined."""
        connection = self._take_connection()
        if connection.plan is not None:
            connection.plan.take(frame if isinstance(frame, bytes) else frame.join())
        elif isinstance(frame, bytes):
            self._sockets.answer(connection, frame)
        else:
            self._sockets.answer_in_pieces(connection, frame)

    def respond_nothing(self) -> None:
        """Finish a request without a response (acks=0)."""
        connection = self._take_connection()
        if connection.plan is None:
            self._sockets.answer(connection, None)
        else:
            connection.plan.take(None)

    def close(self, reason: str) -> None:
        """Close the connection instead of responding."""
        self._sockets.close(self._take_connection(), reason)

    def _take_connection(self) -> Connection:
        connection, self._connection = self._connection, None
        assert connection is not None, f"request {self.correlation_id} is answered twice"
        return connection
