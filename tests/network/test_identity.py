"""The identity of a client and its listener: one of each today, looked up by name everywhere."""

from __future__ import annotations

from support.requests import metadata
from support.simulation import Simulation

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.quota.quota import QuotaEntity
from fakebroker.core.security.identity import ANONYMOUS, PLAINTEXT, KafkaPrincipal, Listener

INTERNAL = Listener("INTERNAL", "PLAINTEXT")


def test_a_connection_knows_its_listener_and_its_principal() -> None:
    simulation = Simulation()
    connection = simulation.connect().connection
    assert (connection.listener, connection.principal) == (PLAINTEXT, ANONYMOUS)
    other = simulation.cluster.open_connection(1, "peer", simulation.now, listener=INTERNAL)
    assert other.listener == INTERNAL
    assert str(other.principal) == "User:ANONYMOUS"


def test_metadata_have_the_endpoints_of_the_listener_of_the_connection() -> None:
    registry = BrokerRegistry([1, 2])
    metadata_cache = MetadataCache("id", registry)
    registry[1].set_endpoint("outside", 9092, PLAINTEXT)
    registry[1].set_endpoint("inside", 9093, INTERNAL)
    outside, inside = (metadata_cache.alive_brokers(listener) for listener in (PLAINTEXT, INTERNAL))
    assert [(broker.node_id, broker.host, broker.port) for broker in outside] == [
        (1, "outside", 9092),
        (2, "127.0.0.1", 0),
    ]
    assert inside[0][:3] == (1, "inside", 9093)
    registry.fence(1)
    registry.unfence(1)
    assert metadata_cache.alive_brokers(INTERNAL)[0].host == "inside"


def test_quotas_are_those_of_the_principal() -> None:
    simulation = Simulation()
    simulation.cluster.members.client_quotas.alter(QuotaEntity("alice", None), {"request_percentage": 0.0001})
    throttled, free = simulation.connect(), simulation.connect()
    throttled.connection.principal = KafkaPrincipal("User", "alice")
    for client in (throttled, free):
        client.send(metadata([]))
    assert throttled.connection.throttle is not None
    assert free.connection.throttle is None
