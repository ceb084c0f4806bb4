"""Ids that clients may keep: the next cluster at the same address repeats none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from support.messages import decode_response
from support.ports import free_ports
from support.raw_client import RawClient
from support.requests import FETCH, METADATA, fetch, init_producer_id, metadata, request
from support.serving import Serving
from support.watchdog import wait_until

from conformance import consumer_group_frames
from conformance.frames import api_versions
from fakebroker import FakeCluster
from fakebroker.protocol.produce_response import NodeEndpoint

JOIN_GROUP, FIND_COORDINATOR = 11, 10
TOPICS = ("a", "b")


@dataclass
class Given:
    """The ids that one life of a cluster gave to clients of each of its brokers."""

    ids: set[object] = field(default_factory=set)
    """Cluster id, topic ids, producer ids, member ids and ids of fetch sessions."""
    leader_epochs: dict[str, int] = field(default_factory=dict)


def given_by(endpoints: list[NodeEndpoint]) -> Given:
    given = Given()
    with ExitStack() as stack:
        clients = {endpoint.node_id: stack.enter_context(RawClient(endpoint)) for endpoint in endpoints}
        for client in clients.values():
            given.ids.add(("producer", init_producer_id(client)))
        _, answer = decode_response(METADATA, 12, client.ask(metadata(list(TOPICS))))
        given.ids.add(answer.cluster_id)
        for topic in answer.topics:
            given.ids.add(topic.topic_id)
            given.leader_epochs[topic.name] = topic.partitions[0].leader_epoch
            leader = clients[topic.partitions[0].leader_id]
        _, fetched = decode_response(FETCH, 11, leader.ask(fetch(topic.name, session_epoch=0)))
        given.ids.add(("session", fetched.session_id))
        wait_until(lambda: any(map(_member_id, clients.values())), "the coordinator")
        given.ids.update(filter(None, map(_member_id, clients.values())))
    return given


def _member_id(client: RawClient) -> str | None:
    """Return the id that the coordinator gives to a new member; None from a broker that is no coordinator yet."""
    request_values = {"key_type": 0, "coordinator_keys": ["g"]}
    client.ask(request(FIND_COORDINATOR, 4, request_values))  # which makes __consumer_offsets
    values: dict[str, Any] = {"group_id": "g", "member_id": "", "group_instance_id": None, "protocol_type": "consumer"}
    values |= {"session_timeout": timedelta(seconds=10), "rebalance_timeout": timedelta(seconds=10)}
    values |= {"protocols": [{"name": "range", "metadata": b""}]}
    _, answer = decode_response(JOIN_GROUP, 5, client.ask(request(JOIN_GROUP, 5, values)))
    return answer.member_id or None


def with_topics(kafka: FakeCluster) -> list[NodeEndpoint]:
    for topic in TOPICS:
        kafka.create_topic(topic, partitions=1, replication_factor=3)
    return kafka.endpoints


def the_first_thing(kafka: FakeCluster) -> list[NodeEndpoint]:
    """Act like the first test of a suite: create the topics in another order, and move leaders."""
    for topic in reversed(TOPICS):
        kafka.create_topic(topic, partitions=1, replication_factor=3)
    for broker in (2, 3, 2):
        kafka.move_leader("a", 0, broker)
    return kafka.endpoints


def by_reset(port: int) -> Iterator[Given]:
    with FakeCluster(port=port) as kafka:
        yield given_by(the_first_thing(kafka))
        for _ in range(2):
            kafka.reset()
            yield given_by(with_topics(kafka))


def by_reset_on_free_ports(port: int) -> Iterator[Given]:
    yield from by_reset(0)


def by_starting_it_again(port: int) -> Iterator[Given]:
    kafka = FakeCluster(port=port)
    for prepare in (the_first_thing, with_topics, with_topics):
        with kafka:
            yield given_by(prepare(kafka))


def by_another_object(port: int) -> Iterator[Given]:
    for prepare in (the_first_thing, with_topics, with_topics):
        with FakeCluster(port=port) as kafka:
            yield given_by(prepare(kafka))


def by_another_process(port: int) -> Iterator[Given]:
    topics = [option for topic in TOPICS for option in ("--topic", f"{topic}:1:3")]
    for _ in range(2):
        with Serving("--port", str(port), "--seed", "0", "--no-control", *topics) as serving:
            yield given_by(
                [NodeEndpoint(broker["id"], broker["host"], broker["port"]) for broker in serving.facts["brokers"]]
            )


WAYS = [
    by_reset, by_reset_on_free_ports, by_starting_it_again, by_another_object, by_another_process,
]  # fmt: skip


@pytest.mark.parametrize("lives", WAYS, ids=lambda way: way.__name__)
def test_no_id_is_given_by_two_lives_and_leader_epochs_grow(lives: Callable[[int], Iterator[Given]]) -> None:
    all_given = list(lives(free_ports(3)))

    for index, given in enumerate(all_given):
        assert len(given.ids) == 3 + 3 + 1 + 1, given  # cluster and topics, producers, session, member
        for before in all_given[:index]:
            assert not given.ids & before.ids
            if all_given[0].leader_epochs["a"] != all_given[0].leader_epochs["b"]:  # leaders moved
                assert min(given.leader_epochs.values()) > max(before.leader_epochs.values())


def test_the_first_life_is_asked_for_and_the_next_ones_follow_from_it() -> None:
    runs = []
    for _ in range(2):
        with FakeCluster(seed=3, life="first") as kafka:
            first = given_by(with_topics(kafka))
            kafka.reset()
            runs.append((first, given_by(with_topics(kafka))))

    assert runs[0] == runs[1]
    first, second = runs[0]
    assert not first.ids & second.ids
    assert {known_id for known_id in first.ids if isinstance(known_id, tuple) and known_id[0] == "producer"} == {
        ("producer", 0),
        ("producer", 1000),
        ("producer", 2000),
    }
    assert set(first.leader_epochs.values()) == {0}
    with FakeCluster(seed=4, life="first") as kafka:
        shared = given_by(with_topics(kafka)).ids & first.ids
    assert shared == {("producer", 0), ("producer", 1000), ("producer", 2000)}


def test_epochs_begin_at_0_where_no_client_knows_the_address() -> None:
    with FakeCluster() as kafka:
        assert set(given_by(with_topics(kafka)).leader_epochs.values()) == {0}


def test_producer_ids_are_numbers_that_javascript_reads() -> None:
    with FakeCluster() as kafka:
        ids = [known_id[1] for known_id in given_by(with_topics(kafka)).ids if isinstance(known_id, tuple)]
    assert all(0 <= known_id < 2**53 for known_id in ids)


def test_a_life_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="life must be new or first, not 'second'"):
        FakeCluster(life="second")


CONSUMER_GROUP_HEARTBEAT = 68
UNKNOWN_MEMBER_ID, GROUP_ID_NOT_FOUND, REBOOTSTRAP_REQUIRED = 25, 69, 129


def heartbeat(client: RawClient, frame: bytes) -> int:
    _, answer = decode_response(CONSUMER_GROUP_HEARTBEAT, 1, client.ask(frame))
    return int(answer.error_code)


def has_joined(client: RawClient, group: str) -> bool:
    client.ask(request(FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": [group]}))
    return heartbeat(client, consumer_group_frames.join(group, "m", "a")) == 0


def join(client: RawClient, group: str) -> None:
    wait_until(lambda: has_joined(client, group), "the coordinator")


def test_members_of_the_consumer_protocol_are_told_to_join_again_after_a_reset() -> None:
    with FakeCluster(brokers=1) as kafka:
        with RawClient(kafka.endpoints[0]) as client:
            join(client, "g")
        for _ in range(2):
            kafka.reset()
            with RawClient(kafka.endpoints[0]) as client:
                join(client, "another")
                assert heartbeat(client, consumer_group_frames.heartbeat("g", "m", 1)) == UNKNOWN_MEMBER_ID
                assert heartbeat(client, consumer_group_frames.heartbeat("new", "m", 1)) == GROUP_ID_NOT_FOUND


def test_a_client_that_means_the_cluster_before_the_reset_is_right_here() -> None:
    with FakeCluster(brokers=1) as kafka:
        ids = [cluster_id(kafka)]
        kafka.reset()
        ids.append(cluster_id(kafka))

        assert [meant(kafka, known_id, 1) for known_id in ids] == [0, 0]
        assert meant(kafka, ids[0], 2) == REBOOTSTRAP_REQUIRED
        assert meant(kafka, "another", 1) == REBOOTSTRAP_REQUIRED


def cluster_id(kafka: FakeCluster) -> str:
    with RawClient(kafka.endpoints[0]) as client:
        _, answer = decode_response(METADATA, 12, client.ask(metadata([])))
        return str(answer.cluster_id)


def meant(kafka: FakeCluster, cluster: str, node: int) -> int:
    """Return the error of a client that names this broker."""
    with RawClient(kafka.endpoints[0]) as client:
        frame = client.ask(api_versions(5, cluster_id=cluster, node_id=node))
    return int.from_bytes(frame[4:6], "big")
