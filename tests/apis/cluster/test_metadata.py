"""Metadata, every version (apis/cluster/metadata.py)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from support.asking import ask, served_versions
from support.requests import METADATA, request
from support.simulation import SimulatedClient, Simulation
from support.topics import topic_of

from fakebroker.apis.cluster.metadata import read_metadata_request
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.messages import decode_request, is_flexible

VERSIONS = served_versions(METADATA)

UNKNOWN_SERVER_ERROR, UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC, INVALID_REQUEST, UNKNOWN_TOPIC_ID = -1, 3, 17, 42, 100

# What a client says that asks with a version that has the field.
REST = {
    "allow_auto_topic_creation": True,
    "include_cluster_authorized_operations": True,
    "include_topic_authorized_operations": True,
}


def named(*names: str | None) -> list[dict[str, Any]]:
    return [{"name": name, "topic_id": None} for name in names]


def asked(client: SimulatedClient, version: int, topics: list[dict[str, Any]] | None, **rest: Any) -> Any:
    return ask(client, METADATA, version, **(REST | {"topics": topics} | rest))


def codes(answer: Any) -> list[tuple[str | None, int]]:
    return [(topic.name, int(topic.error_code)) for topic in answer.topics]


@pytest.fixture
def simulation() -> Simulation:
    running = Simulation(brokers=3)
    for broker_id in running.cluster.brokers:
        running.cluster.registry[broker_id].set_endpoint("kafka.example", 9000 + broker_id)
    running.topic("t", partitions=2, replicas=2)
    running.topic("u")
    return running


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect(broker_id=2)


@pytest.mark.parametrize("version", VERSIONS)
def test_all_brokers_are_told(client: SimulatedClient, version: int) -> None:
    answer = asked(client, version, named("t"))

    assert [(b.node_id, b.host, b.port) for b in answer.brokers] == [(i, "kafka.example", 9000 + i) for i in (1, 2, 3)]


@pytest.mark.parametrize("version", served_versions(METADATA, 1))
def test_the_controller_is_a_broker_and_brokers_have_no_rack(client: SimulatedClient, version: int) -> None:
    answer = asked(client, version, named("t"))

    assert answer.controller_id in {broker.node_id for broker in answer.brokers}
    assert {broker.rack for broker in answer.brokers} == {None}


@pytest.mark.parametrize("version", served_versions(METADATA, 2))
def test_the_cluster_id_is_the_same_on_every_broker(simulation: Simulation, version: int) -> None:
    ids = {asked(simulation.connect(broker_id), version, named("t")).cluster_id for broker_id in (1, 2, 3)}

    assert ids == {simulation.cluster.metadata.cluster_id}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_is_told_with_leaders_replicas_and_isr(client: SimulatedClient, version: int) -> None:
    (topic,) = asked(client, version, named("t")).topics

    assert topic.error_code == 0
    assert [
        (p.partition_index, int(p.error_code), p.leader_id, tuple(p.replica_nodes), tuple(p.isr_nodes))
        for p in topic.partitions
    ] == [(0, 0, 1, (1, 2), (1, 2)), (1, 0, 2, (2, 3), (2, 3))]


@pytest.mark.parametrize("version", served_versions(METADATA, 7))
def test_partitions_have_epochs_and_no_offline_replicas(client: SimulatedClient, version: int) -> None:
    (topic,) = asked(client, version, named("t")).topics

    assert [(p.leader_epoch, tuple(p.offline_replicas)) for p in topic.partitions] == [(0, ()), (0, ())]


def test_an_isr_that_shrank_is_told(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.followers("frozen", topic="t", partition=0)
    partition = simulation.partition()
    partition.update_isr({1}, 0)
    (topic,) = asked(client, 12, named("t")).topics

    assert tuple(topic.partitions[0].isr_nodes) == (1,)


@pytest.mark.parametrize("version", served_versions(METADATA, 8))
def test_authorized_operations_are_not_told_unless_asked_for(client: SimulatedClient, version: int) -> None:
    not_wanted = dict.fromkeys([name for name in REST if name.startswith("include_")], False)
    answer = asked(client, version, named("t"), **not_wanted)

    operations = {answer.topics[0].topic_authorized_operations}
    if version <= 10:
        operations.add(answer.cluster_authorized_operations)
    assert operations == {-(2**31)}


@pytest.mark.parametrize("version", served_versions(METADATA, 10))
def test_topics_have_their_ids(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    (topic,) = asked(client, version, named("t")).topics

    assert topic.topic_id == topic_of(simulation.cluster).topic_id


def test_v13_has_no_error_of_its_own(client: SimulatedClient) -> None:
    assert asked(client, 13, named("t")).error_code == 0


@pytest.mark.parametrize("version", served_versions(METADATA, 1))
def test_null_asks_for_all_topics(client: SimulatedClient, version: int) -> None:
    assert codes(asked(client, version, None)) == [("t", 0), ("u", 0)]


@pytest.mark.parametrize("version", served_versions(METADATA, 1))
def test_an_empty_list_asks_for_no_topic(client: SimulatedClient, version: int) -> None:
    assert codes(asked(client, version, [])) == []


def test_an_empty_list_asks_for_all_topics_in_v0(client: SimulatedClient) -> None:
    assert codes(asked(client, 0, [])) == [("t", 0), ("u", 0)]


# Topics that are not there.


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_topic_is_made_and_told_the_next_time(client: SimulatedClient, version: int) -> None:
    first, second = (codes(asked(client, version, named("new"))) for _ in range(2))

    assert (first, second) == ([("new", UNKNOWN_TOPIC_OR_PARTITION)], [("new", 0)])


def test_a_topic_that_is_made_has_the_defaults_of_the_broker() -> None:
    running = Simulation(config={"num.partitions": "2", "default.replication.factor": "2"})
    client = running.connect()
    asked(client, 12, named("new"))
    (topic,) = asked(client, 12, named("new")).topics

    assert [len(partition.replica_nodes) for partition in topic.partitions] == [2, 2]


@pytest.mark.parametrize("version", served_versions(METADATA, 4))
def test_the_request_may_forbid_to_make_a_topic(client: SimulatedClient, version: int) -> None:
    for _ in range(2):
        answer = asked(client, version, named("new"), allow_auto_topic_creation=False)
        assert codes(answer) == [("new", UNKNOWN_TOPIC_OR_PARTITION)]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_broker_may_forbid_to_make_a_topic(version: int) -> None:
    client = Simulation(config={"auto.create.topics.enable": "false"}).connect()
    for _ in range(2):
        assert codes(asked(client, version, named("new"))) == [("new", UNKNOWN_TOPIC_OR_PARTITION)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "x" * 250])
def test_a_name_that_cannot_be_is_told_so(client: SimulatedClient, version: int, name: str) -> None:
    assert codes(asked(client, version, named(name))) == [(name, INVALID_TOPIC)]


@pytest.mark.parametrize("allow", [True, False])
def test_a_name_that_cannot_be_is_told_so_whether_or_not_topics_are_made(client: SimulatedClient, allow: bool) -> None:
    answer = asked(client, 12, named("a b"), allow_auto_topic_creation=allow)

    assert codes(answer) == [("a b", INVALID_TOPIC)]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_topic_does_not_hide_a_known_one(client: SimulatedClient, version: int) -> None:
    # Kafka tells what it knows first.
    assert codes(asked(client, version, named("new", "t"))) == [("t", 0), ("new", UNKNOWN_TOPIC_OR_PARTITION)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("name", "code"), [("t", 0), ("new", UNKNOWN_TOPIC_OR_PARTITION)])
def test_a_topic_that_is_named_twice_is_told_once(client: SimulatedClient, version: int, name: str, code: int) -> None:
    # Kafka makes a set of what is asked for.
    assert codes(asked(client, version, named(name, name))) == [(name, code)]


# Topic ids.


def by_id(topic_id: UUID) -> list[dict[str, Any]]:
    return [{"name": None, "topic_id": topic_id}]


@pytest.mark.parametrize("version", served_versions(METADATA, 12))
def test_a_topic_is_found_by_its_id(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    topic_id = topic_of(simulation.cluster, "u").topic_id

    assert codes(asked(client, version, by_id(topic_id))) == [("u", 0)]


@pytest.mark.parametrize("version", served_versions(METADATA, 12))
def test_an_unknown_id_is_told_with_the_id_and_no_name(client: SimulatedClient, version: int) -> None:
    (topic,) = asked(client, version, by_id(UUID(int=7))).topics

    assert (topic.name, topic.topic_id, int(topic.error_code)) == (None, UUID(int=7), UNKNOWN_TOPIC_ID)


@pytest.mark.parametrize("version", [10, 11])
def test_ids_are_no_use_before_v12(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    topic_id = topic_of(simulation.cluster, "u").topic_id

    assert codes(asked(client, version, by_id(topic_id))) == [("", INVALID_REQUEST)]


@pytest.mark.parametrize("version", served_versions(METADATA, 10))
def test_neither_name_nor_id_is_refused(client: SimulatedClient, version: int) -> None:
    # From v12 on Kafka looks at the name without looking whether there is one.
    code = INVALID_REQUEST if version < 12 else UNKNOWN_SERVER_ERROR
    assert codes(asked(client, version, named(None))) == [("", code)]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_read_before_is_read_as_it_was(client: SimulatedClient, version: int) -> None:
    names = [[], ["t"], ["u", "t"], ["t" * 249] * 3]  # the last is larger than what is remembered
    frames = [
        request(METADATA, version, REST | {"topics": named(*requested)}, correlation_id=7)[4:] for requested in names
    ]
    offset = decode_request_header(frames[0], is_flexible(METADATA, version)).body_offset

    for frame in frames * 2:
        assert read_metadata_request(version, frame, offset) == decode_request(METADATA, version, frame, offset)
    for _ in range(2):
        with pytest.raises(ProtocolError):
            read_metadata_request(version, frames[1][:-3], offset)
