"""Metrics that clients push: which metrics each client pushes, and how often (KIP-714).

Theory   A client asks for its subscription, by its instance id. It gets the union of all subscriptions that match it
         with the shortest of their intervals. A request before the end of that interval is refused, unless a
         subscription was altered meanwhile: then the instance begins anew. A push has the id of the subscription, a
         checksum of its metrics. Another id gets UNKNOWN_SUBSCRIPTION_ID, and then the client may ask at once.
Units    milliseconds as clients measure them (`HasNow.client_ms`).
Source   server/.../server/ClientMetricsManager.java, server/.../metrics/{ClientMetricsInstance,
         ClientMetricsInstanceMetadata}.java @ 4.2.
Differs  Pushed metrics go nowhere, as in a Kafka without a plugin for them. Expiry is checked at the next request of
         the instance.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple, final
from uuid import UUID

from fakebroker.core.config.client_metrics_config import ALL_METRICS, ClientMetricsSubscriptions
from fakebroker.core.config.subscription_id import compute_subscription_id
from fakebroker.core.errors import KafkaError
from fakebroker.core.hash_order import hash_map_order
from fakebroker.core.re2j import WORK_OF_A_SLICE
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.slices import Slices

ACCEPTED_COMPRESSION_TYPES: Final = (4, 3, 1, 2)  # zstd, lz4, gzip, snappy
_COMPRESSION_TYPES: Final = range(5)
_RESERVED: Final = (UUID(int=0), UUID(int=1))
_CACHE_MAX_SIZE: Final = 16_384
_CACHE_EXPIRY_MS: Final = 60_000
_DEFAULT_INTERVAL_MS: Final = 300_000
_NEVER: Final = -(1 << 62)
_MAY_ASK_AGAIN: Final = (ErrorCode.unknown_subscription_id, ErrorCode.unsupported_compression_type)


class ClientMetadata(NamedTuple):
    """The client's attributes for subscriptions, and its connection, as long as `is_connected` returns True."""

    client_id: str
    software_name: str
    software_version: str
    source_address: str
    source_port: str
    connection: int
    is_connected: Callable[[], bool]


@final
class ClientInstance:
    """A known client instance, and its subscription.

    subscription_id  checksum of the subscription
    metrics          prefixes of the names of metrics; all of them, or none
    """

    __slots__ = (
        "client", "expires_at_ms", "is_terminating", "last_error", "last_get_ms", "last_push_ms", "metrics",
        "push_interval_ms", "subscription_id", "version",
    )  # fmt: skip

    def __init__(
        self, client: ClientMetadata, subscription_id: int, version: int, metrics: list[str], push_interval_ms: int
    ) -> None:
        self.client = client
        self.subscription_id = subscription_id
        self.version = version
        self.metrics = metrics
        self.push_interval_ms = push_interval_ms
        self.is_terminating = False
        self.last_error = ErrorCode.none
        self.last_get_ms = _NEVER
        self.last_push_ms = _NEVER
        self.expires_at_ms = 0

    def maybe_update_get_request(self, now_ms: int) -> bool:
        """Return True, and record the request, if the client may ask for its subscription now."""
        if now_ms - max(self.last_get_ms, self.last_push_ms) < self.push_interval_ms:
            return False
        self.last_get_ms = now_ms
        return True

    def maybe_update_push_request(self, now_ms: int) -> bool:
        """Return True, and record the push, if the client may push now. The first push after a subscription request may
        come at any time."""
        if self.last_get_ms <= self.last_push_ms and now_ms - self.last_push_ms < self.push_interval_ms:
            return False
        self.last_push_ms = now_ms
        return True


@final
class ClientMetricsManager:
    """The client metrics of one broker. At most 16,384 instances are kept, those that were seen last."""

    def __init__(
        self, subscriptions: ClientMetricsSubscriptions, telemetry_max_bytes: int, random_uuid: Callable[[], UUID]
    ) -> None:
        self._subscriptions = subscriptions
        self._random_uuid = random_uuid
        self._instances: OrderedDict[UUID, ClientInstance] = OrderedDict()
        self._by_connection: dict[int, UUID] = {}  # the instance that was begun last
        self.telemetry_max_bytes = telemetry_max_bytes

    def get_subscription(
        self, client_instance_id: UUID | None, client: ClientMetadata, now_ms: int
    ) -> Slices[tuple[UUID, ClientInstance]]:
        """Return a client's instance id and its instance. A client without an id (None) gets a new one. Raise
        KafkaError THROTTLING_QUOTA_EXCEEDED for a request that comes too early."""
        instance_id = client_instance_id or self._random_uuid()
        instance = yield from self._instance(instance_id, client, now_ms)
        if not instance.maybe_update_get_request(now_ms) and instance.last_error not in _MAY_ASK_AGAIN:
            raise _too_early(instance_id)
        instance.last_error = ErrorCode.none
        return instance_id, instance

    def push(
        self,
        instance_id: UUID | None,
        client: ClientMetadata,
        subscription_id: int,
        is_terminating: bool,
        compression_type: int,
        size: int,
        now_ms: int,
    ) -> Slices[ClientInstance]:
        """Accept a push of `size` bytes of metrics. Raise KafkaError if it is refused."""
        if instance_id is None or instance_id in _RESERVED:
            raise KafkaError(ErrorCode.invalid_request, f"client instance id {instance_id} is reserved")
        instance = yield from self._instance(instance_id, client, now_ms)
        try:
            if instance.is_terminating:
                raise KafkaError(ErrorCode.invalid_request, f"client {instance_id} has said that it ends")
            if not instance.maybe_update_push_request(now_ms) and not is_terminating:
                raise _too_early(instance_id)
            if subscription_id != instance.subscription_id:
                raise KafkaError(ErrorCode.unknown_subscription_id, f"not the subscription of client {instance_id}")
            if compression_type not in _COMPRESSION_TYPES:
                raise KafkaError(ErrorCode.unsupported_compression_type, f"no compression type: {compression_type}")
            if size > self.telemetry_max_bytes:
                raise KafkaError(ErrorCode.telemetry_too_large, f"more than {self.telemetry_max_bytes} bytes")
        except KafkaError as error:
            instance.last_error = error.code
            raise
        finally:
            instance.is_terminating = is_terminating
        instance.last_error = ErrorCode.none
        return instance

    def _instance(self, instance_id: UUID, client: ClientMetadata, now_ms: int) -> Slices[ClientInstance]:
        instance = self._instances.get(instance_id)
        if instance is not None and self._is_gone(instance_id, instance, now_ms):
            instance = None
        if instance is None:
            instance = yield from self._begin(instance_id, client, client.connection)
        elif instance.version < self._subscriptions.version:
            instance = yield from self._begin(instance_id, instance.client, client.connection)
        else:
            self._instances.move_to_end(instance_id)
        instance.expires_at_ms = now_ms + max(_CACHE_EXPIRY_MS, 3 * instance.push_interval_ms)
        return instance

    def _is_gone(self, instance_id: UUID, instance: ClientInstance, now_ms: int) -> bool:
        """Return True if the instance has expired, or its connection is closed, unless another instance used that one
        later."""
        if now_ms >= instance.expires_at_ms:
            return True
        client = instance.client
        return self._by_connection.get(client.connection) == instance_id and not client.is_connected()

    def _begin(self, instance_id: UUID, client: ClientMetadata, connection: int) -> Slices[ClientInstance]:
        instance = yield from self._new_instance(instance_id, client)
        self._instances[instance_id] = instance
        self._instances.move_to_end(instance_id)
        self._by_connection[connection] = instance_id
        if len(self._instances) > _CACHE_MAX_SIZE:
            _, oldest = self._instances.popitem(last=False)
            self._by_connection.pop(oldest.client.connection, None)
        return instance

    def _new_instance(self, instance_id: UUID, client: ClientMetadata) -> Slices[ClientInstance]:
        attributes = {
            "client_instance_id": uuid_text(instance_id),
            "client_id": client.client_id,
            "client_software_name": client.software_name,
            "client_software_version": client.software_version,
            "client_source_address": client.source_address,
            "client_source_port": client.source_port,
        }
        push_interval_ms = _DEFAULT_INTERVAL_MS
        metrics: list[str] = []
        work = 0
        version, subscriptions = self._subscriptions.version, list(self._subscriptions.all())
        for subscription in subscriptions:
            work += subscription.work(attributes)
            if work >= WORK_OF_A_SLICE:
                work = 0
                yield
            if subscription.matches(attributes):
                metrics.extend(hash_map_order(subscription.metrics))
                push_interval_ms = min(push_interval_ms, subscription.interval_ms)
        metrics = [ALL_METRICS] if ALL_METRICS in metrics else hash_map_order(metrics)
        subscription_id = compute_subscription_id(metrics, push_interval_ms, instance_id)
        return ClientInstance(client, subscription_id, version, metrics, push_interval_ms)


def uuid_text(uuid: UUID) -> str:
    """Return the id as Kafka writes it."""
    return urlsafe_b64encode(uuid.bytes)[:22].decode()


def _too_early(instance_id: UUID) -> KafkaError:
    return KafkaError(ErrorCode.throttling_quota_exceeded, f"client {instance_id} came before its interval was over")
