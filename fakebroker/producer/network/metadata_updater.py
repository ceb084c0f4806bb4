"""Asks the cluster about itself when that is due: one request at a time, to the node that has least to do.

Theory   Where no connection can take the request, one is made; while one is on its way, no other. A connection that
         ends while news are due is a failure to get them, and after every one news are wanted: a leader may have moved.
         With `metadata.recovery.strategy=rebootstrap` (KIP-899, KIP-1102) the client begins anew from the first
         addresses if no node can be reached, if nothing was learnt for too long, or if a broker says so.
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
class Connections:
    """The network client, as the updater sees it."""

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
    def __init__(self, metadata: Metadata, connections: Connections) -> None:
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
        """What a broker is told of itself: nothing as long as there are only the first addresses, nor where the client
        could not begin anew."""
        config, cluster_id = self._config, self._metadata.cluster_id
        is_checked = config.generation.has_cluster_check and config.metadata_cluster_check_enable
        if not is_checked or not self._rebootstraps or cluster_id is None or node < 0:
            return ExpectedBroker()
        return ExpectedBroker(cluster_id, node)

    def is_update_due(self, now_ms: int) -> bool:
        return self._in_progress is None and self._metadata.time_to_next_update_ms(now_ms) == 0

    def maybe_update(self, now_ms: int) -> int:
        """Ask, or connect to ask, if it is time. After how many milliseconds to look again."""
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
        """A connection has ended, or could not be made; none that was closed on purpose."""
        if self._is_new and self.is_update_due(now_ms):
            self.handle_failed_request(now_ms)
        self._metadata.request_update()

    def handle_failed_request(self, now_ms: int, error: ProducerError | None = None) -> None:
        """There is no answer to be had; with an `error`, there never will be. 2.0 tries again as if it had not
        asked."""
        if self._is_new:
            self._metadata.fatal_error = error or self._metadata.fatal_error
            self._metadata.failed_update(now_ms)
        self._in_progress = None

    def handle_successful_response(self, response: MetadataResponse, now_ms: int) -> None:
        asked = self._in_progress
        self._in_progress = None
        if self._rebootstraps and response.error == REBOOTSTRAP_REQUIRED:
            self._attempt_start_ms = 0
        elif not response.brokers:
            self._metadata.failed_update(now_ms)
        else:
            assert asked is not None
            self._metadata.update(asked, response, now_ms)
            self._attempt_start_ms = None

    def needs_rebootstrap(self, now_ms: int) -> bool:
        at_ms = self.rebootstrap_ms()
        return at_ms is not None and at_ms <= now_ms

    def rebootstrap_ms(self) -> int | None:
        """Return when nothing will have been learnt for longer than the client accepts."""
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
            self._in_progress = request  # for ever, if there is no version for it: the error is told, if it is 4.3
            return self._config.request_timeout_ms
        if connections.is_any_node_connecting():
            return self._config.reconnect_backoff_ms
        if connections.can_connect(node.node_id, now_ms):
            connections.initiate_connect(node, now_ms)
            return self._config.reconnect_backoff_ms
        return LONG_MAX
