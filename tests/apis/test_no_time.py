"""A timeout of 0 or less in a request to the controller: REQUEST_TIMED_OUT, and nothing is done (apis/no_time.py)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from support.asking import ask, served_versions
from support.simulation import SimulatedClient, Simulation

from fakebroker.apis.no_time import has_no_time

CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS, ELECT_LEADERS, ALTER_REASSIGNMENTS = 19, 20, 37, 43, 45
REQUEST_TIMED_OUT, INVALID_REQUEST = 7, 42
TIMEOUTS = (timedelta(0), timedelta(milliseconds=-1))


@pytest.fixture
def simulation() -> Simulation:
    running = Simulation(brokers=3)
    running.topic("t", replicas=2)
    return running


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect(3)


def test_one_millisecond_is_time() -> None:
    assert [has_no_time(timedelta(milliseconds=milliseconds)) for milliseconds in (-1, 0, 1)] == [True, True, False]


def create(client: SimulatedClient, version: int, timeout: timedelta, *names: str) -> dict[str, tuple[int, Any]]:
    rest = {"num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
    topics = [{"name": name, **rest} for name in names]
    answer = ask(client, CREATE_TOPICS, version, topics=topics, timeout=timeout, validate_only=False)
    return {topic.name: (int(topic.error_code), topic.error_message) for topic in answer.topics}


@pytest.mark.parametrize("timeout", TIMEOUTS)
@pytest.mark.parametrize("version", served_versions(CREATE_TOPICS))
def test_nothing_is_made(simulation: Simulation, client: SimulatedClient, version: int, timeout: timedelta) -> None:
    failed = (REQUEST_TIMED_OUT, None)
    assert create(client, version, timeout, "new", "a/b") == {"new": failed, "a/b": failed}
    assert create(client, version, timeout, "new", "twice", "twice") == {"new": failed, "twice": failed}
    assert create(client, version, timeout, "twice", "twice") == {"twice": (INVALID_REQUEST, "Duplicate topic name.")}
    assert create(client, version, timeout) == {}
    assert create(client, version, timedelta(milliseconds=1), "new") == {"new": (0, None)}


@pytest.mark.parametrize("timeout", TIMEOUTS)
@pytest.mark.parametrize("version", served_versions(DELETE_TOPICS))
def test_nothing_is_deleted(simulation: Simulation, client: SimulatedClient, version: int, timeout: timedelta) -> None:
    def delete(*names: str) -> list[tuple[str, int]]:
        values = {"topics": [{"name": name, "topic_id": None} for name in names], "topic_names": names}
        answer = ask(client, DELETE_TOPICS, version, timeout=timeout, **values)
        return [(response.name, int(response.error_code)) for response in answer.responses]

    assert delete("t", "nobody") == [("t", REQUEST_TIMED_OUT), ("nobody", REQUEST_TIMED_OUT)]
    assert delete("t", "t") == [("t", INVALID_REQUEST)]
    assert delete() == []
    assert simulation.partition().leader_id == 1


def test_nothing_is_deleted_by_id(simulation: Simulation, client: SimulatedClient) -> None:
    topics = [{"name": None, "topic_id": UUID(int=5)}]
    answer = ask(client, DELETE_TOPICS, 6, topics=topics, timeout=timedelta(0))
    assert [(response.topic_id, int(response.error_code)) for response in answer.responses] == [
        (UUID(int=5), REQUEST_TIMED_OUT)
    ]


@pytest.mark.parametrize("timeout", TIMEOUTS)
@pytest.mark.parametrize("version", served_versions(CREATE_PARTITIONS))
def test_no_partition_is_made(client: SimulatedClient, version: int, timeout: timedelta) -> None:
    def create_partitions(*names: str) -> list[tuple[str, int]]:
        topics = [{"name": name, "count": 3, "assignments": None} for name in names]
        answer = ask(client, CREATE_PARTITIONS, version, topics=topics, timeout=timeout, validate_only=False)
        return [(result.name, int(result.error_code)) for result in answer.results]

    assert create_partitions("t", "nobody") == [("t", REQUEST_TIMED_OUT), ("nobody", REQUEST_TIMED_OUT)]
    assert create_partitions("t", "t") == [("t", INVALID_REQUEST)]
    assert create_partitions() == []


@pytest.mark.parametrize("timeout", TIMEOUTS)
@pytest.mark.parametrize("version", served_versions(ELECT_LEADERS))
def test_elect_leaders_with_a_timeout_of_zero_or_less_elects_no_leader(
    simulation: Simulation, client: SimulatedClient, version: int, timeout: timedelta
) -> None:
    def elect(topics: Any, kind: int = 0) -> tuple[int, list[int]]:
        named = None if topics is None else [{"topic": name, "partitions": indexes} for name, indexes in topics]
        answer = ask(client, ELECT_LEADERS, version, election_type=kind, topic_partitions=named, timeout=timeout)
        codes = [int(part.error_code) for topic in answer.replica_election_results for part in topic.partition_result]
        return int(getattr(answer, "error_code", REQUEST_TIMED_OUT)), codes

    simulation.move_leader(2)
    assert elect([("t", [0])]) == (REQUEST_TIMED_OUT, [REQUEST_TIMED_OUT])
    assert elect([("t", [0])], kind=9) == (REQUEST_TIMED_OUT, [REQUEST_TIMED_OUT])
    assert elect(None) == (REQUEST_TIMED_OUT, [])
    assert elect([])[1] == []
    assert simulation.partition().leader_id == 2


@pytest.mark.parametrize("timeout", TIMEOUTS)
def test_nothing_is_reassigned(simulation: Simulation, client: SimulatedClient, timeout: timedelta) -> None:
    topics = [{"name": "t", "partitions": [{"partition_index": 0, "replicas": [3]}]}]
    values = {"topics": topics, "timeout": timeout, "allow_replication_factor_change": False}
    answer = ask(client, ALTER_REASSIGNMENTS, 1, **values)
    assert int(answer.error_code) == REQUEST_TIMED_OUT
    assert answer.allow_replication_factor_change  # a request that fails is not validated
    assert [int(part.error_code) for topic in answer.responses for part in topic.partitions] == [REQUEST_TIMED_OUT]
    assert int(ask(client, ALTER_REASSIGNMENTS, 1, **values | {"topics": []}).error_code) == 0
    assert not simulation.partition().is_reassigning
