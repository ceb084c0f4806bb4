"""The metadata updater: it refreshes the metadata when due, one request at a time, at the least loaded node.

Theory   If no connection can take the request, one is made, but only one at a time. A connection that closes while a
         refresh is due counts as a failed refresh. After each closed connection a refresh is requested, as a leader may
         have moved. With `metadata.recovery.strategy=rebootstrap` (KIP-899, KIP-1102) the client restarts from the
         bootstrap addresses. This happens if no node can be reached, if no refresh succeeds for too long, or if a
         broker requires it.
Source   NetworkClient.DefaultMetadataUpdater of 2.0 and 4.3; KIP-1242 as kafka-clients 4.4.0 does it on the wire.
"""

from __future__ import annotations

from fakebroker.producer.errors import ProducerError
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.metadata.metadata_4_3 import Metadata43
from fakebroker.producer.metadata.metadata_response import REBOOTSTRAP_REQUIRED, MetadataRequest, MetadataResponse
from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.client_request import ExpectedBroker
from fakebroker.producer.network.least_loaded_node import LeastLoadedNode
from fakebroker.producer.producer_config import LONG_MAX
from timingwheel.mypyc import mypyc_attr

_REBOOTSTRAP = "rebootstrap"


@mypyc_attr(allow_interpreted_subclasses=True)
class MetadataUpdaterClient:
    """The network client, as the updater uses it."""

    def least_loaded_node(self, now_ms: int) -> LeastLoadedNode:
        raise NotImplementedError

    def can_send_request(self, node: int, now_ms: int) -> bool:
        raise NotImplementedError

    def can_connect(self, node: int, now_ms: int) -> bool:
        raise NotImplementedError

    def is_any_node_connecting(self) -> bool:
        raise NotImplementedError

    def initiate_connect(self, node: Node, now_ms: int) -> None:
        raise NotImplementedError

    def send_internal_metadata_request(self, node: int, request: MetadataRequest, now_ms: int) -> None:
        raise NotImplementedError


class MetadataUpdater:
    def __init__(self, metadata: Metadata, connections: MetadataUpdaterClient) -> None:
        self._metadata = metadata
        self._connections = connections
        self._config = metadata.config
        self._is_new = metadata.config.generation.has_delivery_timeout
        self._rebootstraps = metadata.config.metadata_recovery_strategy.lower() == _REBOOTSTRAP
        self._in_progress: MetadataRequest | None = None
        self._attempt_start_ms: int | None = None

    def fetch_nodes(self) -> tuple[Node, ...]:
        return self._metadata.fetch().nodes

    def expected_broker(self, node: int) -> ExpectedBroker:
        """Return the broker identity to send to a node. It is empty for bootstrap addresses, and if the client cannot
        rebootstrap."""
        config, cluster_id = self._config, self._metadata.cluster_id
        is_checked = config.generation.has_cluster_check and config.metadata_cluster_check_enable
        if not is_checked or not self._rebootstraps or cluster_id is None or node < 0:
            return ExpectedBroker()
        return ExpectedBroker(cluster_id, node)

    def is_update_due(self, now_ms: int) -> bool:
        return self._in_progress is None and self._metadata.time_to_next_update_ms(now_ms) == 0

    def maybe_update(self, now_ms: int) -> int:
        """Send a request or connect, if a refresh is due. Return the time until the next call, in milliseconds."""
        to_next_ms = self._metadata.time_to_next_update_ms(now_ms)
        wait_ms = max(to_next_ms, 0 if self._in_progress is None else self._config.request_timeout_ms)
        if wait_ms > 0:
            return wait_ms
        if self._attempt_start_ms is None:
            self._attempt_start_ms = now_ms
        least_loaded = self._connections.least_loaded_node(now_ms)
        if self._rebootstraps and least_loaded.node is None and not least_loaded.at_least_one_connection_ready:
            self.rebootstrap(now_ms)
            least_loaded = self._connections.least_loaded_node(now_ms)
        if least_loaded.node is None:
            return self._config.reconnect_backoff_ms
        return self._ask(least_loaded.node, now_ms)

    def handle_server_disconnect(self, now_ms: int) -> None:
        """Record a connection that closed or failed, unless the client closed it on purpose."""
        if self._is_new and self.is_update_due(now_ms):
            self.handle_failed_request(now_ms)
        self._metadata.request_update()

    def handle_failed_request(self, now_ms: int, error: ProducerError | None = None) -> None:
        """Record a refresh without a response; `error` means that there never will be one. 2.0 does not count it as a
        failure."""
        if self._is_new:
            self._metadata.fatal_error = error or self._metadata.fatal_error
            self._metadata.failed_update(now_ms)
        self._in_progress = None

    def handle_successful_response(self, response: MetadataResponse, now_ms: int) -> None:
        request = self._in_progress
        self._in_progress = None
        if self._rebootstraps and response.error == REBOOTSTRAP_REQUIRED:
            self._attempt_start_ms = 0
        elif not response.brokers:
            self._metadata.failed_update(now_ms)
        else:
            assert request is not None
            self._metadata.update(request, response, now_ms)
            self._attempt_start_ms = None

    def needs_rebootstrap(self, now_ms: int) -> bool:
        at_ms = self.rebootstrap_ms()
        return at_ms is not None and at_ms <= now_ms

    def rebootstrap_ms(self) -> int | None:
        """Return when the client rebootstraps, as no refresh has succeeded; None if it does not."""
        if not self._rebootstraps or self._attempt_start_ms is None:
            return None
        return self._attempt_start_ms + self._config.metadata_recovery_rebootstrap_trigger_ms + 1

    def rebootstrap(self, now_ms: int) -> None:
        assert isinstance(self._metadata, Metadata43)
        self._metadata.rebootstrap()
        self._attempt_start_ms = now_ms

    def _ask(self, node: Node, now_ms: int) -> int:
        connections = self._connections
        if connections.can_send_request(node.node_id, now_ms):
            request = self._metadata.new_request(now_ms)
            connections.send_internal_metadata_request(node.node_id, request, now_ms)
            self._in_progress = request  # for ever, if no version is usable; 4.3 reports the error
            return self._config.request_timeout_ms
        if connections.is_any_node_connecting():
            return self._config.reconnect_backoff_ms
        if connections.can_connect(node.node_id, now_ms):
            connections.initiate_connect(node, now_ms)
            return self._config.reconnect_backoff_ms
        return LONG_MAX
