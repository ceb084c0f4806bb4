"""The network client: readiness of nodes, requests in flight, their outcomes, and timeouts of connections.

Theory   A poll has two halves. `begin_poll` refreshes the metadata if due, and returns how long to wait for the
         network. `end_poll` handles what has happened since, in this order: completed writes (with acks=0 these end the
         request); responses; closed connections; new connections, which get an ApiVersions request first; setup
         timeouts (4.3); request timeouts. A timed-out request closes its connection and ends all requests there, oldest
         first. Timeouts are checked only in polls: a request may time out later than its limit, never earlier.
Units    monotonic milliseconds.
Source   clients/.../clients/NetworkClient.java of 2.0 and 4.3; conformance/producer plays both.
Differs  No authentication, no telemetry. `random` chooses where the search for the least loaded node begins.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.producer.errors import IllegalProducerStateError
from fakebroker.producer.hash_map import HashMap
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.metadata.metadata_response import MetadataRequest, MetadataResponse
from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.client_request import (
    BrokerApiVersions,
    ClientRequest,
    ClientResponse,
    should_client_throttle,
)
from fakebroker.producer.network.connection_states import ClusterConnectionStates, hash_of_node
from fakebroker.producer.network.least_loaded_node import LeastLoaded, LeastLoadedNode
from fakebroker.producer.network.metadata_updater import MetadataUpdater, MetadataUpdaterClient
from fakebroker.producer.network.node_api_versions import (
    API_VERSIONS,
    INIT_PRODUCER_ID,
    METADATA,
    ApiVersion,
    NodeApiVersions,
    UnsupportedVersionError,
    client_range,
)
from fakebroker.producer.network.selectable import PollResult, Selectable
from fakebroker.producer.sending.in_flight_requests import InFlightRequest, InFlightRequests
from fakebroker.producer.transactions.api_versions import ApiVersions
from fakebroker.protocol.error_code import ErrorCode


class NetworkClient(MetadataUpdaterClient):
    """The network client. `random_node` returns a number from 0 to 2^31 - 1. `api_versions` is updated with what
    brokers serve."""

    def __init__(
        self,
        metadata: Metadata,
        selector: Selectable,
        states: ClusterConnectionStates,
        random_node: Callable[[], int],
        api_versions: ApiVersions | None = None,
    ) -> None:
        self._config = metadata.config
        self._generation = metadata.config.generation
        self._is_new = self._generation.has_delivery_timeout
        self._selector = selector
        self._states = states
        self._random_node = random_node
        self._in_flight: InFlightRequests[ClientRequest] = InFlightRequests(
            self._config.max_in_flight_requests_per_connection, self._generation
        )
        self._updater = MetadataUpdater(metadata, self)
        self._least_loaded = LeastLoaded(states, selector, self._in_flight)
        self._api_versions: dict[int, NodeApiVersions] = {}
        self._told = ApiVersions() if api_versions is None else api_versions
        self._needing_api_versions: HashMap[int, ApiVersion] = HashMap(hash_of_node)
        self._aborted: list[ClientResponse] = []
        self._is_aborting = False  # this poll only returns aborted requests
        self._correlation_id = 0

    def ready(self, node: Node, now_ms: int) -> bool:
        """Return True if a request can be sent to the node. If not, start to connect if the back-off allows it."""
        if self.is_ready(node.node_id, now_ms):
            return True
        if self._states.can_connect(node.node_id, now_ms):
            self.initiate_connect(node, now_ms)
        return False

    def is_ready(self, node: int, now_ms: int) -> bool:
        """Return True if a request can be sent to the node. No node is ready while a metadata refresh is due."""
        return not self._updater.is_update_due(now_ms) and self.can_send_request(node, now_ms)

    def can_send_request(self, node: int, now_ms: int) -> bool:
        return self._least_loaded.can_send_request(node, now_ms)

    def connection_delay_ms(self, node: int, now_ms: int) -> int:
        return self._states.connection_delay_ms(node, now_ms)

    def poll_delay_ms(self, node: int, now_ms: int) -> int:
        return self._states.poll_delay_ms(node, now_ms)

    def connection_failed(self, node: int) -> bool:
        """Return True if the last connection to the node failed or was closed."""
        return self._states.is_disconnected(node)

    def has_ready_nodes(self, now_ms: int) -> bool:
        return self._states.has_ready_nodes(now_ms)

    def in_flight_request_count(self, node: int) -> int:
        return self._in_flight.count(node)

    def in_flight_request_count_all(self) -> int:
        return self._in_flight.count_all()

    def new_client_request(
        self, node: int, wanted: ApiVersion, body: object, now_ms: int, expects_response: bool = True
    ) -> ClientRequest:
        """Return a request with the next correlation id."""
        return self._new_request(node, wanted, body, now_ms, expects_response, is_internal=False)

    def send(self, request: ClientRequest, now_ms: int) -> None:
        """Send to a ready node. If no version is usable, the next poll returns the request with an error."""
        if not self.can_send_request(request.node, now_ms):
            raise IllegalProducerStateError(f"Attempt to send a request to node {request.node} which is not ready.")
        self._send(request, now_ms)

    def begin_poll(self, timeout_ms: int, now_ms: int) -> int | None:
        """Return how long to wait for the network, at most `timeout_ms`. None: call `end_poll` at once."""
        self._is_aborting = bool(self._aborted)
        if self._is_aborting:
            return None
        wait_ms = min(timeout_ms, self._updater.maybe_update(now_ms))
        return min(wait_ms, self._config.request_timeout_ms)

    def time_outs_ms(self) -> list[int]:
        """Return each time at which a limit is exceeded next. All of these limits are strict."""
        others = (self._selector.next_idle_ms(), self._updater.rebootstrap_ms())
        return [ms for ms in others if ms is not None] + self._in_flight.time_outs_ms() + self._states.time_outs_ms()

    def end_poll(self, now_ms: int) -> list[ClientResponse]:
        """Return the outcomes of requests. Requests aborted without being sent are returned alone, before all
        others."""
        responses: list[ClientResponse] = []
        if self._is_aborting:
            responses, self._aborted = self._aborted, responses
            return responses
        happened = self._selector.take(now_ms)
        self._handle_completed_sends(happened, responses, now_ms)
        self._handle_completed_receives(happened, responses, now_ms)
        self._handle_disconnections(happened, responses, now_ms)
        self._handle_connections(happened)
        self._handle_initiate_api_version_requests(now_ms)
        for node in self._states.nodes_with_connection_setup_timeout(now_ms):
            self._selector.close(node)
            self._process_disconnection(responses, node, now_ms, is_timed_out=True)
        self._handle_timed_out_requests(responses, now_ms)
        self._handle_rebootstrap(responses, now_ms)
        return responses

    def disconnect(self, node: int, now_ms: int) -> None:
        """Close the connection on purpose. The next poll returns its requests. The node must have been tried before."""
        if not self._states.is_disconnected(node):
            self._selector.close(node)
            self._cancel_in_flight(node, now_ms, self._aborted, is_timed_out=False)
            self._states.disconnected(node, now_ms)

    def close_connection(self, node: int, now_ms: int) -> None:
        """Close the connection and forget the node, without returning its requests."""
        self._selector.close(node)
        self._cancel_in_flight(node, now_ms, [], is_timed_out=False)
        self._states.remove(node)
        if self._is_new:
            self._forget_api_versions(node)

    def least_loaded_node(self, now_ms: int) -> LeastLoadedNode:
        """Return the least loaded node that can take a request, else one that is connecting or can be connected."""
        nodes = self._updater.fetch_nodes()
        assert nodes, "the client has no node: bootstrap it first"
        offset = self._random_node() % len(nodes)
        turned = nodes[offset:] + nodes[:offset]
        if self._is_new:
            return self._least_loaded.of_4_3(turned, now_ms)
        return self._least_loaded.of_2_0(turned, self._updater.is_update_due(now_ms), now_ms)

    def can_connect(self, node: int, now_ms: int) -> bool:
        return self._states.can_connect(node, now_ms)

    def is_any_node_connecting(self) -> bool:
        return any(self._states.is_connecting(node.node_id) for node in self._updater.fetch_nodes())

    def initiate_connect(self, node: Node, now_ms: int) -> None:
        self._states.connecting(node.node_id, now_ms, node.host)
        self._selector.connect(node, now_ms)

    def send_internal_metadata_request(self, node: int, request: MetadataRequest, now_ms: int) -> None:
        wanted = client_range(METADATA, self._generation)
        self._send(self._new_request(node, wanted, request, now_ms, True, is_internal=True), now_ms)

    def check_invariants(self) -> None:
        self._states.check_invariants()

    def _new_request(
        self, node: int, wanted: ApiVersion, body: object, now_ms: int, expects_response: bool, is_internal: bool
    ) -> ClientRequest:
        correlation_id = self._correlation_id
        self._correlation_id += 1
        timeout_ms = self._config.request_timeout_ms
        return ClientRequest(node, wanted, body, correlation_id, now_ms, timeout_ms, expects_response, is_internal)

    def _send(self, request: ClientRequest, now_ms: int) -> None:
        versions = self._api_versions.get(request.node)
        if versions is not None:
            try:
                request.version = versions.latest_usable_version(request.wanted)
            except UnsupportedVersionError as error:
                self._abort(request, error, now_ms)
                return
        newest = client_range(request.api_key, self._generation).max_version
        if request.version > newest:  # ApiVersions in a version that a broker named: Kafka waits for ever
            self._abort(request, UnsupportedVersionError(f"The client knows versions up to {newest}."), now_ms)
            return
        self._in_flight.add(InFlightRequest(request, request.node, request.timeout_ms, now_ms))
        self._selector.send(request, now_ms)

    def _abort(self, request: ClientRequest, error: UnsupportedVersionError, now_ms: int) -> None:
        if not request.is_internal or not self._is_new:
            self._aborted.append(ClientResponse(request, now_ms, version_mismatch=error))
        elif request.api_key == METADATA:
            self._updater.handle_failed_request(now_ms, error)

    def _handle_completed_sends(self, happened: PollResult, responses: list[ClientResponse], now_ms: int) -> None:
        for node in happened.completed_sends:
            sent = self._in_flight.last_sent(node)
            sent.is_written = True
            if not sent.request.expects_response:
                self._in_flight.complete_last_sent(node)
                responses.append(ClientResponse(sent.request, now_ms))

    def _handle_completed_receives(self, happened: PollResult, responses: list[ClientResponse], now_ms: int) -> None:
        for node, body, throttle_time_ms in happened.completed_receives:
            request = self._in_flight.complete_next(node).request
            if throttle_time_ms > 0 and should_client_throttle(request.api_key, request.version):
                self._in_flight.increment_throttle_time(node, throttle_time_ms)
                self._states.throttle(node, now_ms + throttle_time_ms)
            if request.is_internal and isinstance(body, MetadataResponse):
                self._updater.handle_successful_response(body, now_ms)
            elif request.is_internal and isinstance(body, BrokerApiVersions):
                self._handle_api_versions_response(responses, request, body, now_ms)
            else:
                responses.append(ClientResponse(request, now_ms, body))

    def _handle_api_versions_response(
        self, responses: list[ClientResponse], request: ClientRequest, body: BrokerApiVersions, now_ms: int
    ) -> None:
        """Apply an ApiVersions response. An unknown version is retried in one that the broker names (2.4), or in 0."""
        node = request.node
        if body.error == ErrorCode.none:
            self._api_versions[node] = NodeApiVersions(body.versions)
            level = body.transaction_version if self._generation.has_transaction_v2 else 0
            self._told.update(node, body.max_version_of(INIT_PRODUCER_ID), body.features_epoch, level)
            self._states.ready(node)
        elif body.error == ErrorCode.unsupported_version and request.version > 0:
            version = body.max_version_of(API_VERSIONS) if self._is_new else 0
            self._needing_api_versions.put(node, ApiVersion(API_VERSIONS, version, version))
        else:
            self._selector.close(node)
            self._process_disconnection(responses, node, now_ms)

    def _handle_disconnections(self, happened: PollResult, responses: list[ClientResponse], now_ms: int) -> None:
        for node in happened.disconnected:
            self._process_disconnection(responses, node, now_ms)
        if happened.disconnected and not self._is_new:
            self._updater.handle_server_disconnect(now_ms)

    def _handle_connections(self, happened: PollResult) -> None:
        for node in happened.connected:
            if not self._is_new:
                self._states.checking_api_versions(node)
            self._needing_api_versions.put(node, client_range(API_VERSIONS, self._generation))

    def _handle_initiate_api_version_requests(self, now_ms: int) -> None:
        for node, wanted in self._needing_api_versions.items():
            if self._selector.is_channel_ready(node) and self._in_flight.can_send_more(node):
                if self._is_new:
                    self._states.checking_api_versions(node)
                expected = self._updater.expected_broker(node)
                self._send(self._new_request(node, wanted, expected, now_ms, True, is_internal=True), now_ms)
                self._needing_api_versions.remove(node)

    def _handle_timed_out_requests(self, responses: list[ClientResponse], now_ms: int) -> None:
        nodes = self._in_flight.nodes_with_timed_out_requests(now_ms)
        for node in nodes:
            self._selector.close(node)
            self._process_disconnection(responses, node, now_ms, is_timed_out=True)
        if nodes and not self._is_new:
            self._updater.handle_server_disconnect(now_ms)

    def _handle_rebootstrap(self, responses: list[ClientResponse], now_ms: int) -> None:
        if not self._updater.needs_rebootstrap(now_ms):
            return
        for node in self._updater.fetch_nodes():
            self._selector.close(node.node_id)
            if self._states.is_connecting(node.node_id) or self._states.is_connected(node.node_id):
                self._process_disconnection(responses, node.node_id, now_ms)
        self._updater.rebootstrap(now_ms)

    def _process_disconnection(
        self, responses: list[ClientResponse], node: int, now_ms: int, is_timed_out: bool = False
    ) -> None:
        self._states.disconnected(node, now_ms)
        self._forget_api_versions(node)
        self._cancel_in_flight(node, now_ms, responses, is_timed_out)
        if self._is_new:
            self._updater.handle_server_disconnect(now_ms)

    def _cancel_in_flight(self, node: int, now_ms: int, responses: list[ClientResponse], is_timed_out: bool) -> None:
        for sent in self._in_flight.clear_all(node):
            if not sent.request.is_internal:
                is_told = is_timed_out and self._is_new
                responses.append(ClientResponse(sent.request, now_ms, was_disconnected=True, was_timed_out=is_told))
            elif sent.request.api_key == METADATA:
                self._updater.handle_failed_request(now_ms)

    def _forget_api_versions(self, node: int) -> None:
        self._api_versions.pop(node, None)
        self._told.remove(node)
        if self._needing_api_versions.get(node) is not None:
            self._needing_api_versions.remove(node)
