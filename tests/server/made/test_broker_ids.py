"""Chosen brokers: ids, racks, addresses, and placements of topics (server/made/arguments.py)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from support.messages import decode_response
from support.ports import free_ports
from support.raw_client import RawClient
from support.requests import api_versions
from support.watchdog import LIMIT_S

from fakebroker import AsyncFakeCluster, FakeCluster, KafkaError


def test_brokers_have_the_ids_that_were_chosen() -> None:
    with FakeCluster(broker_ids=[0, 7, 100]) as kafka:
        assert [node.node_id for node in kafka.endpoints] == [0, 7, 100]
        assert list(kafka.brokers) == [0, 7, 100]
        with pytest.raises(KeyError, match="there is no broker 1: the ids are 0, 7, 100"):
            kafka.brokers[1].stop()


def test_a_number_of_brokers_may_repeat_their_ids() -> None:
    assert list(FakeCluster(brokers=2, broker_ids=[0, 7]).brokers) == [0, 7]


def test_a_topic_lies_where_it_was_assigned() -> None:
    with FakeCluster() as kafka:
        kafka.create_topic("t", assignments=[[3, 1], [1, 2]], configs={"min.insync.replicas": 2})
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        partitions = admin.list_topics("t", timeout=LIMIT_S).topics["t"].partitions
        assert {index: (part.leader, part.replicas) for index, part in partitions.items()} == {
            0: (3, [3, 1]),
            1: (1, [1, 2]),
        }


def test_broker_0_leads_and_follows_like_any_other() -> None:
    with FakeCluster(broker_ids=[0, 1, 2]) as kafka:
        kafka.create_topic("t", assignments=[[0, 1, 2]])
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "acks": "all"})
        producer.produce("t", b"one", partition=0)
        assert producer.flush(LIMIT_S) == 0
        kafka.brokers[0].stop()
        producer.produce("t", b"two", partition=0)
        assert producer.flush(LIMIT_S) == 0
        kafka.brokers[0].start()
        kafka.followers.freeze("t", broker=0)
        kafka.followers.resume("t", broker=0)
        kafka.move_leader("t", 0, 0)
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        end, latest = TopicPartition("t", 0), OffsetSpec.latest()  # type: ignore[no-untyped-call]
        assert admin.list_offsets({end: latest})[end].result(LIMIT_S).offset == 2


def test_clients_are_told_of_racks() -> None:
    with FakeCluster(broker_ids=[5, 6], racks={5: "a"}, config={"broker.rack": "z"}) as kafka:
        assert [(node.node_id, node.rack) for node in kafka.endpoints] == [(5, "a"), (6, "z")]


@pytest.mark.parametrize("level", [0, 1, 2])
def test_clients_are_told_of_the_levels_of_features(level: int) -> None:
    with (
        FakeCluster(brokers=1, features={"transaction.version": level}) as kafka,
        RawClient(kafka.endpoints[0]) as client,
    ):
        _, answer = decode_response(18, 4, client.ask(api_versions(4)))
        levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
        assert levels.get("transaction.version", 0) == level
        assert levels["group.version"] == 1


def test_ports_are_in_the_order_of_the_ids() -> None:
    port = free_ports(2)
    with FakeCluster(broker_ids=[9, 4], port=port) as kafka:
        assert [(node.node_id, node.port) for node in kafka.endpoints] == [(9, port), (4, port + 1)]


def test_clients_are_told_another_port_and_a_broker_comes_back_on_its_own() -> None:
    with FakeCluster(brokers=2, advertised_host="kafka", advertised_port=1000) as kafka:
        assert [(node.host, node.port) for node in kafka.endpoints] == [("kafka", 1000), ("kafka", 1001)]
        kafka.brokers[2].stop()
        kafka.brokers[2].start()
        assert [(node.host, node.port) for node in kafka.endpoints] == [("kafka", 1000), ("kafka", 1001)]


@pytest.mark.parametrize("kind", [FakeCluster, AsyncFakeCluster])
@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"broker_ids": []}, ValueError, "a cluster has 1 to 100 brokers, not 0"),
        ({"broker_ids": range(101)}, ValueError, "a cluster has 1 to 100 brokers, not 101"),
        ({"broker_ids": [1, 1]}, ValueError, "each broker needs a different id, not 1, 1"),
        ({"broker_ids": [-1]}, ValueError, "a broker has an id from 0 to 2147483647, not -1"),
        ({"broker_ids": ["1"]}, TypeError, "each of broker_ids must be a whole number, not '1'"),
        ({"broker_ids": "12"}, TypeError, "broker_ids must be a list of whole numbers, not '12'"),
        (
            {"brokers": 2, "broker_ids": [1, 2, 3]},
            ValueError,
            "brokers is 2, but broker_ids names 3 brokers: .* one of .*",
        ),
        ({"broker_ids": 3}, TypeError, "broker_ids must be a list of whole numbers, not 3"),
        (
            {"features": {"exactly.once": 1}},
            ValueError,
            "there is no feature 'exactly.once': there are eligible.leader.replicas.version, group.version, "
            "metadata.version, transaction.version",
        ),
        ({"features": {"transaction.version": 3}}, ValueError, "transaction.version has the levels 0 to 2, not 3"),
        (
            {"features": {"transaction.version": "1"}},
            TypeError,
            "the level of transaction.version must be a whole number, not '1'",
        ),
        ({"features": 1}, TypeError, "features must be a mapping of names to values, or None, not 1"),
        ({"racks": {4: "a"}}, ValueError, "there is no broker 4: the ids are 1 to 3"),
        ({"racks": {1: 5}}, TypeError, "the rack of broker 1 must be a string, not 5"),
        ({"racks": {"1": "a"}}, TypeError, "a broker of racks must be a whole number, not '1'"),
        ({"racks": ["a"]}, TypeError, "racks must be a mapping of names to values, or None, not .*"),
        ({"defaults": "ours"}, ValueError, "defaults are fakebroker, kafka, test, not 'ours'"),
        ({"defaults": None}, TypeError, "defaults must be a string, not None"),
        (
            {"config": {"listeners": "PLAINTEXT://127.0.0.1:65535"}, "brokers": 3},
            ValueError,
            "the port 65535 of listeners leaves no room for 3 brokers: use 0, or 1 to 65533",
        ),
        (
            {"config": {"advertised.listeners": "PLAINTEXT://127.0.0.1:65535"}, "brokers": 3},
            ValueError,
            r"the port 65535 of advertised\.listeners leaves no room for 3 brokers: use 0, or 1 to 65533",
        ),
        ({"journal_file": ""}, ValueError, "journal_file must be the name of a file, not ''"),
        ({"advertised_port": 65534}, ValueError, "advertised_port 65534 leaves no room for 3 brokers: .*"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_no_cluster_is_made_of(
    kind: type, arguments: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=f"^{sentence}$"):
        kind(**arguments)


@pytest.mark.parametrize("assignments", [5, "12", [1, 2], [[1], "2"], [["1"]], [[True]], []], ids=str)
def test_what_is_no_assignment(assignments: Any) -> None:
    async def main() -> None:
        async with AsyncFakeCluster() as kafka:
            with pytest.raises(TypeError, match="assignments must be"):
                kafka.create_topic("t", assignments=assignments)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"assignments": [[1, 9]]}, "includes broker 9, but no such broker is registered"),
        ({"assignments": [[1, 1]]}, "includes the broker 1 more than once"),
        ({"assignments": [[1], [1, 2]]}, "not consistent with previous partitions"),
        ({"assignments": [[]]}, "includes an empty replica list"),
        ({"assignments": [[1]], "partitions": 1}, "numPartitions was not set to -1"),
        ({"assignments": [[1]], "replication_factor": 1}, "replication factor was not set to -1"),
    ],
)
def test_an_assignment_that_kafka_refuses(arguments: dict[str, Any], message: str) -> None:
    async def main() -> None:
        async with AsyncFakeCluster() as kafka:
            with pytest.raises(KafkaError, match=message):
                kafka.create_topic("t", **arguments)

    asyncio.run(main())
