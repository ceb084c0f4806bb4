"""DeleteTopics: each topic on its own; by name, by id; twice is a mistake (ControllerApis.deleteTopics)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from support.answers import UNKNOWN_TOPIC, answers
from support.asking import ask, served_versions
from support.handling import Handling, received
from support.requests import produce, request
from support.simulation import Simulation
from support.slices import most_calls_of_a_slice

from fakebroker.protocol.error_code import ErrorCode

DELETE_TOPICS = 20
NONE, INVALID_REQUEST, UNKNOWN_TOPIC_ID = 0, 42, 100
NOBODY = UUID(int=0xDEAD)

Asked = tuple[str | None, UUID | None]


@pytest.fixture
def simulation() -> Simulation:
    running = Simulation()
    for name in ("a", "b", "c"):
        running.topic(name)
    return running


def id_of(simulation: Simulation, name: str) -> UUID:
    topic = simulation.cluster.metadata.topic(name)
    assert topic is not None
    return topic.topic_id


def deleted(simulation: Simulation, version: int, *asked: Asked) -> list[tuple[str | None, UUID | None, int]]:
    answer: Any = ask(
        simulation.connect(2),  # any broker
        DELETE_TOPICS,
        version,
        topics=[{"name": name, "topic_id": topic_id} for name, topic_id in asked],
        topic_names=tuple(name for name, _ in asked),
        timeout=timedelta(seconds=1),
    )
    return [(r.name, getattr(r, "topic_id", None), int(r.error_code)) for r in answer.responses]


@pytest.mark.parametrize("version", served_versions(DELETE_TOPICS))
def test_topics_are_deleted_by_name(simulation: Simulation, version: int) -> None:
    id_ = id_of(simulation, "a") if version >= 6 else None
    assert deleted(simulation, version, ("a", None), ("nobody", None)) == [
        ("nobody", None, UNKNOWN_TOPIC),
        ("a", id_, NONE),
    ]
    assert simulation.cluster.metadata.topic_names() == ["b", "c"]


def test_topics_are_deleted_by_id(simulation: Simulation) -> None:
    id_ = id_of(simulation, "b")
    assert deleted(simulation, 6, (None, id_), (None, NOBODY)) == [
        (None, NOBODY, UNKNOWN_TOPIC_ID),
        ("b", id_, NONE),
    ]
    assert simulation.cluster.metadata.topic_names() == ["a", "c"]


@pytest.mark.parametrize(
    ("name", "asked", "message"),
    [
        ("nothing", [(None, None)], "Neither topic name nor id were specified."),
        ("name and id", [("a", NOBODY)], "You may not specify both topic name and topic id."),
        ("a name twice", [("a", None), ("a", None)], "Duplicate topic name."),
        ("an unknown name twice", [("nobody", None), ("nobody", None)], "Duplicate topic name."),
        ("an id twice", [(None, NOBODY), (None, NOBODY)], "Duplicate topic id."),
    ],
)
def test_a_wrong_request_is_refused_once_and_deletes_nothing(
    simulation: Simulation, name: str, asked: list[Asked], message: str
) -> None:
    answer: Any = ask(
        simulation.connect(),
        DELETE_TOPICS,
        6,
        topics=[{"name": name, "topic_id": id_} for name, id_ in asked],
        timeout=timedelta(0),
    )
    assert [(int(r.error_code), r.error_message) for r in answer.responses] == [(INVALID_REQUEST, message)]
    assert simulation.cluster.metadata.topic_names() == ["a", "b", "c"]


def test_the_same_topic_by_name_and_by_id(simulation: Simulation) -> None:
    id_ = id_of(simulation, "a")
    assert deleted(simulation, 6, ("a", None), (None, id_)) == [("a", id_, INVALID_REQUEST)]
    assert simulation.cluster.metadata.topic_names() == ["a", "b", "c"]


def test_parked_requests_complete_before_the_deletion(simulation: Simulation) -> None:
    simulation.followers("frozen")
    waiting = simulation.connect()
    waiting.send(produce("a", timeout_ms=5_000))
    simulation.advance(10)
    deleted(simulation, 6, ("a", None))
    assert answers(waiting) == [(10, UNKNOWN_TOPIC, 0)]


def test_a_deleted_topic_may_be_made_again(simulation: Simulation) -> None:
    first = id_of(simulation, "a")
    deleted(simulation, 6, ("a", None))
    simulation.topic("a")
    assert id_of(simulation, "a") != first
    assert deleted(simulation, 6, (None, first)) == [(None, first, int(ErrorCode.unknown_topic_id))]


@pytest.mark.interpreted
def test_a_topic_of_many_partitions_is_deleted_in_slices() -> None:
    """The longest slice does not grow with the partitions."""

    def most_calls(partitions: int) -> int:
        running = Simulation()
        running.topic("many", partitions=partitions)
        topics = [{"name": "many", "topic_id": None}]
        frame = request(DELETE_TOPICS, 6, {"topics": topics, "timeout": timedelta(seconds=1)})
        api, context, decoded = received(running, frame[4:])
        most = most_calls_of_a_slice(lambda: api.handle(context, decoded))
        assert running.cluster.metadata.topic_names() == []
        return most

    assert most_calls(512) - most_calls(256) < 32


def test_a_topic_is_gone_before_its_partitions_are_cleaned_up() -> None:
    """The topic can be created again meanwhile; only the old one is deleted."""
    running = Simulation()
    running.topic("many", partitions=300)
    handling = Handling(
        running, DELETE_TOPICS, 6, {"topics": [{"name": "many", "topic_id": None}], "timeout": timedelta(seconds=1)}
    )
    handling.step(2)
    assert running.cluster.metadata.topic("many") is None
    running.topic("many", partitions=300)
    assert [int(response.error_code) for response in handling.answer().responses] == [NONE]
    partition = running.cluster.metadata.find_partition("many", 299)
    assert partition is not None
    client = running.connect(partition.leader_id)
    client.send(produce("many", partition=299))
    assert answers(client) == [(0, NONE, 0)]
