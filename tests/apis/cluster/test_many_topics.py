"""Requests that name many topics: events between the slices of one, and the bound on all of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.handling import Handling
from support.messages import decode_response
from support.requests import request
from support.simulation import Simulation
from support.slices import count_slices

from fakebroker.core.controller.topics import NewTopic
from fakebroker.protocol.error_code import ErrorCode

METADATA, CREATE_TOPICS, DELETE_TOPICS, OFFSET_FOR_LEADER_EPOCH = 3, 19, 20, 23
SECOND = timedelta(seconds=1)
COUNT = 600


@pytest.fixture
def simulation() -> Simulation:
    simulation = Simulation()
    simulation.cluster.controller.create_topics(
        [NewTopic(name(number), 2, 3) for number in range(COUNT)], simulation.now
    )
    return simulation


def name(number: int) -> str:
    return f"t{number:03}"


def new(topic: str) -> dict[str, Any]:
    return {"name": topic, "num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}


NAMED = [{"name": name(number), "topic_id": None} for number in range(COUNT)]
PARTITIONS = [{"partition": index, "current_leader_epoch": -1, "leader_epoch": 0} for index in range(COUNT)]


@pytest.mark.parametrize(
    ("api_key", "values"),
    [
        (METADATA, {"topics": None}),
        (METADATA, {"topics": [{"name": f"u{number}", "topic_id": None} for number in range(COUNT)]}),
        (CREATE_TOPICS, {"topics": [new(f"u{number}") for number in range(COUNT)], "timeout": SECOND}),
        (CREATE_TOPICS, {"topics": [new("twice") for _ in range(10 * COUNT)], "timeout": SECOND}),
        (DELETE_TOPICS, {"topic_names": [name(number) for number in range(COUNT)], "timeout": SECOND}),
        (OFFSET_FOR_LEADER_EPOCH, {"replica_id": -1, "topics": [{"topic": name(1), "partitions": PARTITIONS}]}),
    ],
    ids=["all", "unknown", "create", "twice", "delete", "epochs"],
)
def test_each_takes_many_slices(simulation: Simulation, api_key: int, values: dict[str, Any]) -> None:
    handling = Handling(simulation, api_key, 4, values)
    _, count = count_slices(handling.slices)
    assert count >= 10


def test_metadata_tells_the_topics_that_there_were_when_it_was_asked(simulation: Simulation) -> None:
    handling = Handling(simulation, METADATA, 7, {"topics": None})
    handling.step(3)
    gone = simulation.cluster.metadata.topic(name(COUNT - 1))
    assert gone is not None
    simulation.delete_topic(gone.name)
    simulation.topic("later")
    simulation.stop(2)
    answer = handling.answer()

    assert [topic.name for topic in answer.topics] == [name(number) for number in range(COUNT)]
    assert [topic.error_code for topic in answer.topics] == [ErrorCode.none] * COUNT
    assert {len(topic.partitions) for topic in answer.topics} == {2}
    assert [p.leader_id for p in answer.topics[0].partitions] == [1, 2]
    assert 2 not in [p.leader_id for p in answer.topics[COUNT - 2].partitions]


def test_a_topic_that_is_deleted_meanwhile_is_unknown(simulation: Simulation) -> None:
    handling = Handling(simulation, DELETE_TOPICS, 6, {"topics": NAMED, "timeout": SECOND})
    handling.step(10)
    simulation.delete_topic(name(COUNT - 1))
    simulation.topic(name(COUNT - 1))  # of the same name, and another one
    answer = handling.answer()

    errors = {topic.name: topic.error_code for topic in answer.responses}
    assert errors.pop(name(COUNT - 1)) == ErrorCode.unknown_topic_id
    assert errors == {name(number): ErrorCode.none for number in range(COUNT - 1)}
    assert simulation.cluster.metadata.topic_names() == [name(COUNT - 1)]


def test_a_topic_that_is_created_meanwhile_exists_already() -> None:
    simulation = Simulation()
    topics = [new(name(number)) for number in range(100)]
    handling = Handling(simulation, CREATE_TOPICS, 7, {"topics": topics, "timeout": SECOND, "validate_only": False})
    handling.step(20)
    simulation.topic(name(99))
    answer = handling.answer()

    expected = [ErrorCode.none] * 99 + [ErrorCode.topic_already_exists]
    assert [topic.error_code for topic in answer.topics] == expected


def test_unknown_names_beyond_what_one_request_may_make_are_not_made() -> None:
    simulation = Simulation(config={"num.partitions": "100"})
    for count, made in ((99, 99), (100, 99)):
        client = simulation.connect()
        names = [{"name": f"{count}-{number}"} for number in range(count)]
        client.send(request(METADATA, 4, {"topics": names, "allow_auto_topic_creation": True}))
        [(_, frame)] = client.answers
        topics = decode_response(METADATA, 4, frame)[1].topics
        assert {topic.error_code for topic in topics} == {ErrorCode.unknown_topic_or_partition}
        assert len(simulation.cluster.metadata.topic_names()) == made


def test_more_elements_than_a_request_may_have_close_the_connection() -> None:
    simulation = Simulation(config={"fakebroker.request.max.elements": "5000"})
    for count, reason in ((5_000, None), (5_001, "it has 5001 elements or more")):
        client = simulation.connect()
        client.send(request(METADATA, 4, {"topics": [{"name": "."}] * count, "allow_auto_topic_creation": True}))
        if reason is None:
            assert client.closed is None
            assert len(client.answers) == 1
        else:
            assert client.closed is not None
            assert reason in client.closed
            assert "and one request may have 5000" in client.closed
            assert client.answers == []
