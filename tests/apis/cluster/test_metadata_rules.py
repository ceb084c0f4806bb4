"""Rules of the Metadata response: ids before names, errors as in KRaft mode, and details of each version."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from support.messages import decode_response
from support.requests import METADATA, request
from support.simulation import Simulation

from fakebroker.protocol.error_code import ErrorCode

NOBODY = UUID(int=0xDEAD_BEEF)
NOT_REQUESTED = -(2**31)


def ask(
    simulation: Simulation,
    topics: list[tuple[str | None, UUID | None]] | None,
    version: int = 12,
    *,
    create: bool = True,
    operations: bool = False,
) -> Any:
    """Return the response to one Metadata request; topics are (name, id)."""
    values = {
        "topics": None if topics is None else [{"name": name, "topic_id": id_} for name, id_ in topics],
        "allow_auto_topic_creation": create,
        "include_cluster_authorized_operations": operations,
        "include_topic_authorized_operations": operations,
    }
    client = simulation.connect()
    client.send(request(METADATA, version, values))
    [(_, frame)] = client.answers
    return decode_response(METADATA, version, frame)[1]


def names(*topics: str) -> list[tuple[str | None, UUID | None]]:
    return [(name, None) for name in topics]


def flat(response: Any) -> list[tuple[str | None, int]]:
    return [(topic.name, int(topic.error_code)) for topic in response.topics]


def id_of(simulation: Simulation, name: str) -> UUID:
    topic = simulation.cluster.metadata.topic(name)
    assert topic is not None
    return topic.topic_id


@pytest.fixture
def simulation() -> Simulation:
    simulation = Simulation()
    simulation.topic("a")
    simulation.topic("b")
    return simulation


@pytest.mark.parametrize("name", [None, "", "b", "no such topic"])
@pytest.mark.parametrize("version", [12, 13])
def test_an_id_counts_and_its_name_does_not(simulation: Simulation, name: str | None, version: int) -> None:
    response = ask(simulation, [(name, id_of(simulation, "a"))], version)
    assert flat(response) == [("a", 0)]


def test_beside_an_id_all_names_are_ignored(simulation: Simulation) -> None:
    response = ask(simulation, [("b", None), ("new", None), (None, None), ("", id_of(simulation, "a"))])
    assert flat(response) == [("a", 0)]
    assert simulation.cluster.metadata.topic("new") is None


def test_an_unknown_id_is_told_without_a_name(simulation: Simulation) -> None:
    response = ask(simulation, [("", id_of(simulation, "a")), ("", NOBODY)], operations=True)
    assert flat(response) == [(None, ErrorCode.unknown_topic_id), ("a", 0)]
    assert response.topics[0].topic_id == NOBODY
    assert response.topics[0].topic_authorized_operations == NOT_REQUESTED


def test_an_id_is_answered_once(simulation: Simulation) -> None:
    id_ = id_of(simulation, "a")
    assert flat(ask(simulation, [("", NOBODY), ("", id_), ("", id_), ("", NOBODY)])) == [
        (None, ErrorCode.unknown_topic_id),
        ("a", 0),
    ]


def test_a_name_is_answered_once_in_the_order_of_the_request(simulation: Simulation) -> None:
    response = ask(simulation, names("new", "b", "a", "b", "new", "newer"))
    unknown = ErrorCode.unknown_topic_or_partition
    assert flat(response) == [("b", 0), ("a", 0), ("new", unknown), ("newer", unknown)]


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("new", 3),
        ("a_b", 3),
        ("__cluster_metadata", 3),
        ("", 17),
        (".", 17),
        ("white space", 17),
        ("x" * 249, 3),
        ("x" * 250, 17),
    ],
)
@pytest.mark.parametrize("version", [1, 8, 13])
def test_only_the_name_decides_how_an_unknown_topic_is_answered(
    version: int, name: str, error: int, create: bool
) -> None:
    # A replication factor that no topic can have: every creation fails, and the response does not show it.
    simulation = Simulation(brokers=2, config={"default.replication.factor": "3"})
    simulation.topic("a.b", replicas=1)
    for _ in range(2):
        assert flat(ask(simulation, names(name), version, create=create)) == [(name, error)]
    assert simulation.cluster.metadata.topic_names() == ["a.b"]


def test_what_can_be_made_is_there_at_the_next_request(simulation: Simulation) -> None:
    assert flat(ask(simulation, names("new", "."), create=False)) == [("new", 3), (".", 17)]
    assert flat(ask(simulation, names("new", "."))) == [("new", 3), (".", 17)]
    assert flat(ask(simulation, names("new", "."))) == [("new", 0), (".", 17)]


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("topic", [(None, None), ("a", NOBODY), (None, NOBODY)])
def test_ids_before_version_12_fail_the_request(
    simulation: Simulation, version: int, topic: tuple[str | None, UUID | None]
) -> None:
    response = ask(simulation, [topic, ("b", None)], version)
    invalid = ErrorCode.invalid_request
    assert flat(response) == [(topic[0] or "", invalid), ("b", invalid)]
    assert [answer.topic_id for answer in response.topics] == [topic[1], None]
    assert (response.brokers, response.cluster_id, response.controller_id) == ((), None, -1)


def test_neither_name_nor_id_is_an_error_of_the_server_as_in_kafka(simulation: Simulation) -> None:
    response = ask(simulation, [(None, None), ("a", None)], 13)
    assert flat(response) == [("", ErrorCode.unknown_server_error), ("a", ErrorCode.unknown_server_error)]
    assert response.error_code == ErrorCode.unknown_server_error
    assert response.brokers == ()


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state", "__share_group_state"])
def test_internal_topics_are_told_as_such_known_or_not(name: str) -> None:
    simulation = Simulation()
    for error in (ErrorCode.unknown_topic_or_partition, ErrorCode.none):
        [topic] = ask(simulation, names(name)).topics
        assert (topic.error_code, topic.is_internal) == (error, True)
    [topic] = ask(simulation, [("", id_of(simulation, name))]).topics
    assert topic.is_internal


def test_other_topics_are_not_internal(simulation: Simulation) -> None:
    answers = ask(simulation, names("a", "new", "__cluster_metadata", "__mine")).topics
    assert [topic.is_internal for topic in answers] == [False] * 4


def bits(*codes: int) -> int:
    return sum(1 << code for code in codes)


@pytest.mark.parametrize("version", [8, 9, 10, 11, 12, 13])
def test_without_an_authorizer_everything_is_authorized_and_told_when_asked_for(
    simulation: Simulation, version: int
) -> None:
    metadata = ask(simulation, names("a", "new", "."), version, operations=True)
    # read, write, create, delete, alter, describe, describe_configs, alter_configs
    assert {topic.topic_authorized_operations for topic in metadata.topics} == {bits(3, 4, 5, 6, 7, 8, 10, 11)}
    silent = ask(simulation, names("a", "new", "."), version)
    assert {topic.topic_authorized_operations for topic in silent.topics} == {NOT_REQUESTED}
    if version <= 10:
        # create, alter, describe, cluster_action, describe_configs, alter_configs, idempotent_write
        assert metadata.cluster_authorized_operations == bits(5, 7, 8, 9, 10, 11, 12)
        assert silent.cluster_authorized_operations == NOT_REQUESTED


def test_all_topics_ask_for_no_creation(simulation: Simulation) -> None:
    assert flat(ask(simulation, None, 13)) == [("a", 0), ("b", 0)]
    assert flat(ask(simulation, [], 0)) == [("a", 0), ("b", 0)]
    assert flat(ask(simulation, [], 1)) == []
