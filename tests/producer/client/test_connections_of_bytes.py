"""Connections: whole responses from pieces, one for each poll, and none from a closed connection."""

from __future__ import annotations

from fakebroker.producer.client.connections import Connections
from fakebroker.producer.client.effects import CloseConnection, Connect, SendBytes
from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.client_request import BrokerApiVersions, ClientRequest, ExpectedBroker
from fakebroker.producer.network.node_api_versions import API_VERSIONS, ApiVersion
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import encode_response, response_type

NODE = Node(1, "host", 9092)


def connected() -> Connections:
    connections = Connections(ProducerConfig("4.3", {}), 0)
    connections.connect(NODE, 0)
    assert connections.take_effects() == [Connect(1, "host", 9092)]
    assert not connections.is_channel_ready(1)
    assert connections.connected(1, 0)
    assert not connections.connected(1, 0), "no news"
    assert connections.is_channel_ready(1)
    assert connections.take(0).connected == [1]
    return connections


def ask(connections: Connections, correlation_id: int) -> bytes:
    """Return the response to the request."""
    connections.send(ClientRequest(1, ApiVersion(API_VERSIONS, 0, 0), ExpectedBroker(), correlation_id, 0, 100), 0)
    return answer(correlation_id)


def answer(correlation_id: int) -> bytes:
    response = build(response_type(API_VERSIONS, 0), {"error_code": ErrorCode.none, "api_keys": []})
    return bytes(encode_response(response, correlation_id))


def test_an_answer_comes_in_pieces_and_one_in_each_poll() -> None:
    connections = connected()
    data = ask(connections, 0) + ask(connections, 1)
    effects = connections.take_effects()
    assert [type(effect) for effect in effects] == [SendBytes, SendBytes]
    for at in range(len(data) - 1):
        assert connections.received(1, data[at : at + 1], 0) == (at == len(data) // 2 - 1)
    assert connections.received(1, data[-1:], 0)
    happened = connections.take(0)
    assert happened.completed_sends == [1, 1]
    assert [(node, type(body)) for node, body, _ in happened.completed_receives] == [(1, BrokerApiVersions)]
    assert connections.has_more()
    assert len(connections.take(0).completed_receives) == 1
    assert not connections.has_more()


def test_what_was_answered_before_the_end_is_heard_before_it() -> None:
    connections = connected()
    data = ask(connections, 0) + ask(connections, 1)
    connections.received(1, data, 0)
    assert connections.lost(1)
    assert not connections.lost(1)
    happened = connections.take(0)
    assert (len(happened.completed_receives), happened.disconnected) == (1, [])
    happened = connections.take(0)
    assert (len(happened.completed_receives), happened.disconnected) == (1, [1])


def test_what_makes_no_sense_ends_the_connection() -> None:
    for data in (answer(5), b"\0\0\0\1x"):
        connections = connected()
        ask(connections, 0)
        connections.take_effects()
        assert connections.received(1, data, 0)
        (effect,) = connections.take_effects()
        assert isinstance(effect, CloseConnection)
        assert effect.connection == 1
        assert effect.reason
        assert connections.take(0).disconnected == [1]
    connections = connected()
    assert connections.received(1, answer(0), 0), "nothing was asked"
    assert connections.take_effects() == [CloseConnection(1, "a response came without a request")]


def test_a_closed_connection_has_no_further_events() -> None:
    connections = connected()
    data = ask(connections, 0)
    connections.received(1, data, 0)
    connections.take_effects()
    connections.close(1)
    connections.close(1)
    assert connections.take_effects() == [CloseConnection(1)]
    assert not connections.has_more()
    connections.connect(NODE, 0)
    assert connections.take_effects() == [Connect(2, "host", 9092)]
    assert not connections.received(1, data, 0)
    assert not connections.lost(1)
    assert not connections.is_channel_ready(1)
    assert connections.lost(2), "it could not be made"
