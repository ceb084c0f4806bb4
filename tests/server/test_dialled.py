"""`advertised_host="dialled"`: clients get the address that they use themselves for all brokers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.messages import decode_response
from support.ports import can_listen, free_ports
from support.raw_client import RawClient
from support.requests import METADATA, metadata, produce, request
from support.watchdog import LIMIT_S

from fakebroker import FakeCluster
from fakebroker.protocol.produce_response import NodeEndpoint

PRODUCE, FIND_COORDINATOR, DESCRIBE_CLUSTER = 0, 10, 60
NOT_LEADER_OR_FOLLOWER = 6
ADDRESSES = ["127.0.0.1", "127.0.0.2"]


pytestmark = pytest.mark.skipif(not can_listen("127.0.0.2"), reason="this system has one loopback address")


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(host="0.0.0.0", advertised_host="dialled") as cluster:
        yield cluster


def ask(host: str, endpoint: NodeEndpoint, frame: bytes) -> bytes:
    with RawClient(endpoint._replace(host=host)) as client:
        return client.ask(frame)


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_answer_that_names_a_broker(kafka: FakeCluster, address: str) -> None:
    first, second, third = kafka.endpoints
    ports = {endpoint.node_id: (address, endpoint.port) for endpoint in (first, second, third)}

    _, answer = decode_response(METADATA, 12, ask(address, second, metadata([])))
    assert {broker.node_id: (broker.host, broker.port) for broker in answer.brokers} == ports

    request_values: dict[str, object] = {"include_cluster_authorized_operations": False, "endpoint_type": 1}
    _, answer = decode_response(DESCRIBE_CLUSTER, 1, ask(address, first, request(DESCRIBE_CLUSTER, 1, request_values)))
    assert {broker.broker_id: (broker.host, broker.port) for broker in answer.brokers} == ports

    request_values = {"key_type": 0, "coordinator_keys": ["group"]}
    for _ in range(2):  # the first one makes the topic
        _, answer = decode_response(
            FIND_COORDINATOR, 4, ask(address, first, request(FIND_COORDINATOR, 4, request_values))
        )
    (coordinator,) = answer.coordinators
    assert (coordinator.host, coordinator.port) == ports[coordinator.node_id]

    kafka.create_topic("t")
    kafka.move_leader("t", partition=0, broker=2)
    _, answer = decode_response(PRODUCE, 10, ask(address, first, produce("t", version=10)))
    assert answer.responses[0].partition_responses[0].error_code == NOT_LEADER_OR_FOLLOWER
    (leader,) = answer.node_endpoints
    assert (leader.node_id, (leader.host, leader.port)) == (2, ports[2])


def test_without_a_connection_endpoints_have_the_address_of_the_host(kafka: FakeCluster) -> None:
    assert {endpoint.host for endpoint in kafka.endpoints} == {"127.0.0.1"}
    assert kafka.bootstrap_servers.startswith("127.0.0.1:")


def test_with_other_ports() -> None:
    port = free_ports(2)
    with FakeCluster(2, host="0.0.0.0", port=port, advertised_host="dialled", advertised_port=29_092) as kafka:
        _, answer = decode_response(
            METADATA, 12, ask("127.0.0.2", kafka.endpoints[0]._replace(port=port), metadata([]))
        )

    assert [(broker.host, broker.port) for broker in answer.brokers] == [("127.0.0.2", 29_092), ("127.0.0.2", 29_093)]


@pytest.mark.skipif(not can_listen("::1"), reason="this system has no IPv6")
def test_ipv6() -> None:
    with FakeCluster(brokers=1, host="::", advertised_host="dialled") as kafka:
        _, answer = decode_response(METADATA, 12, ask("::1", kafka.endpoints[0], metadata([])))
        assert [broker.host for broker in answer.brokers] == ["::1"]


def test_after_a_reset(kafka: FakeCluster) -> None:
    kafka.reset()
    _, answer = decode_response(METADATA, 12, ask("127.0.0.2", kafka.endpoints[0], metadata([])))
    assert {broker.host for broker in answer.brokers} == {"127.0.0.2"}


@pytest.mark.clients
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_stock_client(kafka: FakeCluster, address: str) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    kafka.create_topic("t", partitions=3)
    producer = confluent_kafka.Producer({"bootstrap.servers": f"{address}:{kafka.endpoints[0].port}"})
    for partition in range(3):
        producer.produce("t", b"v", partition=partition)
    assert producer.flush(LIMIT_S) == 0
    assert {broker.host for broker in producer.list_topics(timeout=LIMIT_S).brokers.values()} == {address}
