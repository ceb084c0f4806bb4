"""The network client: the handshake, the responses, and the end of a connection."""

from __future__ import annotations

import pytest

from fakebroker.producer.errors import IllegalProducerStateError
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.metadata.metadata_2_0 import Metadata20
from fakebroker.producer.metadata.metadata_4_3 import Metadata43
from fakebroker.producer.metadata.metadata_response import MetadataRequest, MetadataResponse
from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.client_request import (
    BrokerApiVersions,
    ClientRequest,
    ClientResponse,
    ExpectedBroker,
)
from fakebroker.producer.network.connection_states import ClusterConnectionStates
from fakebroker.producer.network.network_client import NetworkClient
from fakebroker.producer.network.node_api_versions import API_VERSIONS, METADATA, PRODUCE, ApiVersion, client_range
from fakebroker.producer.network.selectable import PollResult, Selectable
from fakebroker.producer.producer_config import LONG_MAX, ProducerConfig
from fakebroker.protocol.error_code import ErrorCode

both = pytest.mark.parametrize("generation", ["2.0", "4.3"])
FIRST, SECOND = Node(1, "one", 9092), Node(2, "two", 9092)
ALL = [ApiVersion(PRODUCE, 0, 13), ApiVersion(METADATA, 0, 13), ApiVersion(API_VERSIONS, 0, 4)]


class Wires(Selectable):
    def __init__(self) -> None:
        self.sent: list[ClientRequest] = []
        self.connecting: list[int] = []
        self.closed: list[int] = []
        self.channels: set[int] = set()
        self.happened = PollResult()

    def connect(self, node: Node, now_ms: int) -> None:
        self.connecting.append(node.node_id)

    def close(self, node: int) -> None:
        self.closed.append(node)
        self.channels.discard(node)

    def send(self, request: ClientRequest, now_ms: int) -> None:
        self.sent.append(request)
        self.happened.completed_sends.append(request.node)

    def is_channel_ready(self, node: int) -> bool:
        return node in self.channels

    def take(self, now_ms: int) -> PollResult:
        happened, self.happened = self.happened, PollResult()
        return happened

    def next_idle_ms(self) -> int | None:
        return None


class Net:
    """A client with fresh metadata that name two brokers."""

    def __init__(self, generation: str, **settings: object) -> None:
        given = {"request.timeout.ms": 100, "enable.idempotence": False} | {
            name.replace("_", "."): value for name, value in settings.items()
        }
        config = ProducerConfig(generation, given)
        self.metadata: Metadata = Metadata20(config) if generation == "2.0" else Metadata43(config, lambda: 0.5, 0.0)
        self.metadata.bootstrap([Node(-1, "first", 9092)], 0)
        self.metadata.update(MetadataRequest([]), MetadataResponse([FIRST, SECOND], [], 6), 0)
        self.wires = Wires()
        states = ClusterConnectionStates(config, lambda: 0.5, 0.0)
        self.client = NetworkClient(self.metadata, self.wires, states, lambda: 0)
        self.generation = config.generation

    def turn(self, now_ms: int) -> list[ClientResponse]:
        self.client.begin_poll(LONG_MAX, now_ms)
        return self.client.end_poll(now_ms)

    def connected(self, node: Node, now_ms: int = 0) -> None:
        """Connect, up to the request for the broker's versions."""
        assert not self.client.ready(node, now_ms)
        self.wires.channels.add(node.node_id)
        self.wires.happened.connected.append(node.node_id)
        self.turn(now_ms)

    def ready(self, node: Node, now_ms: int = 0, versions: list[ApiVersion] = ALL) -> None:
        self.connected(node, now_ms)
        self.answer(node, BrokerApiVersions(versions))
        self.turn(now_ms)
        assert self.client.ready(node, now_ms)

    def answer(self, node: Node, body: object, throttle_ms: int = 0) -> None:
        self.wires.happened.completed_receives.append((node.node_id, body, throttle_ms))

    def send(self, node: Node, now_ms: int = 0, expects_response: bool = True) -> ClientRequest:
        wanted = client_range(PRODUCE, self.generation)
        request = self.client.new_client_request(node.node_id, wanted, "records", now_ms, expects_response)
        self.client.send(request, now_ms)
        return request


@both
def test_a_broker_is_asked_what_it_serves_before_all_else(generation: str) -> None:
    net = Net(generation)
    net.connected(FIRST)
    assert [request.api_key for request in net.wires.sent] == [API_VERSIONS]
    assert not net.client.ready(FIRST, 0), "it has not answered"
    net.answer(FIRST, BrokerApiVersions([ApiVersion(PRODUCE, 0, 5)]))
    net.turn(0)
    assert net.client.ready(FIRST, 0)
    assert net.wires.connecting == [1]
    net.send(FIRST)
    assert net.wires.sent[-1].version == 5


@both
def test_a_broker_that_does_not_know_the_version_is_asked_in_another(generation: str) -> None:
    net = Net(generation)
    net.connected(FIRST)
    net.answer(FIRST, BrokerApiVersions([ApiVersion(API_VERSIONS, 0, 1)], ErrorCode.unsupported_version))
    net.turn(0)
    assert net.wires.sent[-1].version == (0 if generation == "2.0" else 1)
    net.answer(FIRST, BrokerApiVersions([], ErrorCode.cluster_authorization_failed))
    net.turn(0)
    assert net.wires.closed == [1]
    assert net.client.connection_failed(1)


@both
def test_one_request_that_takes_too_long_ends_all_of_its_connection_in_order(generation: str) -> None:
    net = Net(generation)
    net.ready(FIRST)
    net.ready(SECOND)
    sent = []
    for at_ms in (10, 60):
        sent.append(net.send(FIRST, at_ms))
        net.turn(at_ms)
    net.send(SECOND, 60)
    assert net.turn(110) == [], "as long as it may"
    responses = net.turn(111)
    assert [response.request for response in responses] == sent
    assert all(response.was_disconnected for response in responses)
    assert all(response.was_timed_out == (generation == "4.3") for response in responses)
    assert net.wires.closed == [1]
    assert net.client.in_flight_request_count(2) == 1
    assert net.metadata.update_requested(), "the leader may have moved"


@both
def test_a_connection_that_is_lost_answers_all_that_waited_there(generation: str) -> None:
    net = Net(generation)
    net.ready(FIRST)
    sent = net.send(FIRST)
    net.wires.happened.disconnected.append(1)
    (response,) = net.turn(5)
    assert response.request is sent
    assert (response.was_disconnected, response.was_timed_out, response.body) == (True, False, None)
    assert net.client.connection_failed(1)
    assert not net.client.is_ready(1, 5)


@both
def test_a_request_without_a_response_completes_when_it_is_written(generation: str) -> None:
    net = Net(generation)
    net.ready(FIRST)
    sent = net.send(FIRST, expects_response=False)
    assert [response.request for response in net.turn(0)] == [sent]
    assert net.client.in_flight_request_count_all() == 0


@both
def test_a_throttled_node_is_not_ready_if_the_client_throttles(generation: str) -> None:
    for newest, is_ready in ((5, True), (6, False)):
        net = Net(generation)
        net.ready(FIRST, versions=[ApiVersion(PRODUCE, 0, newest)])
        net.send(FIRST)
        net.answer(FIRST, "written", throttle_ms=50)
        assert [response.body for response in net.turn(10)] == ["written"]
        assert net.client.is_ready(1, 10) == is_ready
        assert net.client.poll_delay_ms(1, 20) == (LONG_MAX if is_ready else 40)
        assert net.client.is_ready(1, 60)


@both
def test_no_common_version_is_told_by_the_next_turn(generation: str) -> None:
    net = Net(generation)
    net.ready(FIRST, versions=[ApiVersion(PRODUCE, 0, 2)])
    sent = net.send(FIRST)
    (response,) = net.turn(0)
    assert response.request is sent
    assert response.version_mismatch is not None
    assert not response.was_disconnected
    assert net.client.in_flight_request_count_all() == 0


@both
def test_while_metadata_is_due_no_node_is_ready(generation: str) -> None:
    net = Net(generation, retry_backoff_ms=20)
    net.ready(FIRST)
    net.ready(SECOND)
    net.send(FIRST)
    net.turn(0)
    net.metadata.add("t", 0)
    assert not net.client.is_ready(2, 50)
    net.turn(50)
    assert (net.wires.sent[-1].node, net.wires.sent[-1].api_key) == (2, METADATA), "it has the least to do"
    assert net.client.is_ready(1, 50)
    net.answer(SECOND, MetadataResponse([FIRST], [], 6))
    assert net.turn(51) == []
    assert [node.node_id for node in net.metadata.fetch().nodes] == [1]


@both
def test_on_purpose_all_comes_back_with_the_next_turn_or_nothing_does(generation: str) -> None:
    net = Net(generation)
    net.ready(FIRST)
    sent = net.send(FIRST)
    net.client.disconnect(1, 5)
    assert net.client.connection_failed(1)
    assert [(one.request, one.was_timed_out) for one in net.turn(5)] == [(sent, False)]
    net = Net(generation)
    net.ready(FIRST)
    net.send(FIRST)
    net.client.close_connection(1, 5)
    assert net.client.begin_poll(LONG_MAX, 5) is not None
    assert net.client.in_flight_request_count_all() == 0
    assert not net.client.connection_failed(1)


def test_connecting_that_takes_too_long_is_given_up() -> None:
    net = Net("4.3", socket_connection_setup_timeout_ms=20)
    assert not net.client.ready(FIRST, 0)
    net.turn(20)
    assert net.wires.closed == []
    net.turn(21)
    assert net.wires.closed == [1]
    assert net.client.connection_failed(1)


@pytest.mark.parametrize(
    ("generation", "settings", "expected"),
    [
        ("4.3", {}, ExpectedBroker()),
        ("4.4", {}, ExpectedBroker("c", 1)),
        ("4.4", {"metadata_cluster_check_enable": False}, ExpectedBroker()),
        ("4.4", {"metadata_recovery_strategy": "none"}, ExpectedBroker()),
    ],
)
def test_a_broker_is_told_which_one_it_is_taken_for(
    generation: str, settings: dict[str, object], expected: ExpectedBroker
) -> None:
    """KIP-1242. The broker ids of bootstrap addresses are unknown."""
    net = Net(generation, **settings)
    net.metadata.update(MetadataRequest([]), MetadataResponse([FIRST, SECOND], [], 13, cluster_id="c"), 0)
    net.connected(FIRST)
    net.connected(Node(-1, "first", 9092))
    assert [request.body for request in net.wires.sent] == [expected, ExpectedBroker()]
    assert isinstance(net.metadata, Metadata43)
    net.metadata.rebootstrap()
    net.connected(SECOND)
    assert net.wires.sent[-1].body == ExpectedBroker()


def test_a_client_that_learns_nothing_for_too_long_begins_anew() -> None:
    net = Net("4.3", metadata_recovery_rebootstrap_trigger_ms=1_000, reconnect_backoff_max_ms=50)
    net.metadata.add("t", 500)
    net.turn(500)
    for at_ms in (1_500, 1_501):
        net.turn(at_ms)
        first = net.metadata.fetch().nodes[0].node_id
        assert first == (1 if at_ms == 1_500 else -1)


def test_the_first_of_equally_loaded_nodes_is_chosen() -> None:
    net = Net("4.3")
    for node in (FIRST, SECOND):
        net.ready(node)
        net.send(node)
    net.turn(0)
    assert net.client.least_loaded_node(0).node == FIRST


@pytest.mark.parametrize(("generation", "version"), [("2.0", 1), ("4.3", 4)])
def test_what_a_broker_served_is_forgotten_with_it_in_4_3(generation: str, version: int) -> None:
    net = Net(generation)
    net.ready(FIRST, versions=[ApiVersion(API_VERSIONS, 0, 1)])
    net.client.close_connection(1, 0)
    net.wires.channels.clear()
    net.connected(FIRST)
    assert (net.wires.sent[-1].api_key, net.wires.sent[-1].version) == (API_VERSIONS, version)


@both
def test_a_request_to_a_node_that_is_not_ready_is_an_illegal_state(generation: str) -> None:
    """A sender that slept for a back-off may have missed that the broker throttles it. Kafka logs it as uncaught."""
    net = Net(generation)
    net.ready(FIRST)
    net.send(FIRST)
    net.answer(FIRST, None, throttle_ms=50)
    net.turn(0)
    with pytest.raises(IllegalProducerStateError, match=r"^Attempt to send a request to node 1 which is not ready\.$"):
        net.send(FIRST)
