"""CreateTopics, every version (apis/topics/create_topics.py)."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask, served_versions
from support.requests import CREATE_TOPICS
from support.simulation import SimulatedClient, Simulation
from support.topics import topic_of

VERSIONS = served_versions(CREATE_TOPICS)

INVALID_TOPIC, ALREADY_EXISTS, INVALID_PARTITIONS, INVALID_FACTOR, INVALID_ASSIGNMENT = 17, 36, 37, 38, 39
INVALID_CONFIG, INVALID_REQUEST, POLICY_VIOLATION = 40, 42, 44


def new(name: str, partitions: int = -1, replicas: int = -1, **rest: Any) -> dict[str, Any]:
    return {"name": name, "num_partitions": partitions, "replication_factor": replicas, **NOTHING_MORE, **rest}


NOTHING_MORE: dict[str, Any] = {"assignments": [], "configs": []}


def configs(**values: str | None) -> list[dict[str, Any]]:
    return [{"name": name.replace("_", "."), "value": value} for name, value in values.items()]


def assigned(*brokers: list[int]) -> list[dict[str, Any]]:
    return [{"partition_index": index, "broker_ids": ids} for index, ids in enumerate(brokers)]


def created(client: SimulatedClient, version: int, *topics: dict[str, Any], validate_only: bool = False) -> list[Any]:
    answer = ask(client, CREATE_TOPICS, version, topics=list(topics), validate_only=validate_only)
    return list(answer.topics)


def codes(topics: list[Any]) -> list[tuple[str, int]]:
    return [(topic.name, int(topic.error_code)) for topic in topics]


@pytest.fixture
def simulation() -> Simulation:
    return Simulation(brokers=3)


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


def placement(simulation: Simulation, name: str) -> list[list[int]]:
    return [partition.replica_ids for partition in topic_of(simulation.cluster, name).partitions]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_is_there_when_it_is_answered(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    assert codes(created(client, version, new("n", 2, 2))) == [("n", 0)]
    assert placement(simulation, "n") == [[1, 2], [2, 3]]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_that_is_made_has_no_error_message(client: SimulatedClient, version: int) -> None:
    assert created(client, version, new("n", 1, 1))[0].error_message is None


@pytest.mark.parametrize("broker_id", [1, 2, 3])
def test_any_broker_may_be_asked(simulation: Simulation, broker_id: int) -> None:
    assert codes(created(simulation.connect(broker_id), 7, new("n", 1, 1))) == [("n", 0)]


@pytest.mark.parametrize("version", VERSIONS)
def test_minus_one_takes_the_defaults(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    created(client, version, new("n"))

    assert placement(simulation, "n") == [[1, 2, 3]]


@pytest.mark.parametrize("version", VERSIONS)
def test_several_topics_are_answered_in_order(client: SimulatedClient, version: int) -> None:
    answers = codes(created(client, version, new("b", 1, 1), new("a b"), new("a", 1, 1)))

    assert answers == [("b", 0), ("a b", INVALID_TOPIC), ("a", 0)]


@pytest.mark.parametrize("version", served_versions(CREATE_TOPICS, 5))
def test_v5_tells_partitions_replicas_and_settings(client: SimulatedClient, version: int) -> None:
    (topic,) = created(client, version, new("n", 3, 2, configs=configs(min_insync_replicas="2")))

    assert (topic.num_partitions, topic.replication_factor) == (3, 2)
    assert ("min.insync.replicas", "2", False) in [(c.name, c.value, c.is_sensitive) for c in topic.configs]


@pytest.mark.parametrize("version", served_versions(CREATE_TOPICS, 5))
def test_v5_tells_the_defaults_that_were_taken(client: SimulatedClient, version: int) -> None:
    (topic,) = created(client, version, new("n"))

    assert (topic.num_partitions, topic.replication_factor) == (1, 3)


def test_v7_tells_the_topic_id(simulation: Simulation, client: SimulatedClient) -> None:
    (topic,) = created(client, 7, new("n"))

    assert topic.topic_id == topic_of(simulation.cluster, "n").topic_id


@pytest.mark.parametrize("version", VERSIONS)
def test_validating_makes_nothing(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    assert codes(created(client, version, new("n"), validate_only=True)) == [("n", 0)]
    assert simulation.cluster.metadata.topic("n") is None


@pytest.mark.parametrize("version", VERSIONS)
def test_validating_finds_what_is_wrong(client: SimulatedClient, version: int) -> None:
    assert codes(created(client, version, new("n", 1, 9), validate_only=True)) == [("n", INVALID_FACTOR)]


@pytest.mark.parametrize("version", VERSIONS)
def test_replicas_may_be_assigned(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    created(client, version, new("n", assignments=assigned([3, 1], [2, 3])))

    assert placement(simulation, "n") == [[3, 1], [2, 3]]


BAD: dict[str, tuple[dict[str, Any], int, str]] = {
    "there already": (new("t"), ALREADY_EXISTS, "Topic 't' already exists."),
    "empty name": (new(""), INVALID_TOPIC, "the empty string is not allowed"),
    "long name": (new("x" * 250), INVALID_TOPIC, "longer than the max allowed length 249"),
    "bad name": (new("a/b"), INVALID_TOPIC, "contains one or more characters other than ASCII alphanumerics"),
    "no partitions": (new("n", 0), INVALID_PARTITIONS, "non-positive"),
    "too many partitions": (new("n", 10_001), POLICY_VIOLATION, "Excessively large number of partitions"),
    "no replicas": (new("n", 1, 0), INVALID_FACTOR, "larger than 0"),
    "too many replicas": (new("n", 1, 4), INVALID_FACTOR, "only 3 broker(s) are registered"),
    "partitions and assignments": (
        new("n", 1, assignments=assigned([1])),
        INVALID_REQUEST,
        "numPartitions was not set",
    ),
    "replicas and assignments": (
        new("n", -1, 1, assignments=assigned([1])),
        INVALID_REQUEST,
        "factor was not set to -1",
    ),
    "a partition twice": (
        new("n", assignments=assigned([1]) + assigned([2])),
        INVALID_ASSIGNMENT,
        "Found multiple manual partition assignments for partition 0",
    ),
    "a gap": (
        new("n", assignments=[{"partition_index": 1, "broker_ids": [1]}]),
        INVALID_ASSIGNMENT,
        "consecutive 0-based integer sequence",
    ),
    "nobody": (new("n", assignments=assigned([])), INVALID_ASSIGNMENT, "an empty replica list"),
    "a broker twice": (new("n", assignments=assigned([1, 1])), INVALID_ASSIGNMENT, "broker 1 more than once"),
    "unequal": (
        new("n", assignments=assigned([1, 2], [1])),
        INVALID_ASSIGNMENT,
        "not consistent with previous partitions",
    ),
    "unknown broker": (new("n", assignments=assigned([9])), INVALID_ASSIGNMENT, "includes broker 9"),
    "unknown setting": (new("n", configs=configs(no_such="1")), INVALID_CONFIG, "Unknown topic config name: no.such"),
    "no value": (new("n", configs=configs(min_insync_replicas=None)), INVALID_CONFIG, "Null value not supported"),
    "no number": (new("n", configs=configs(max_message_bytes="x")), INVALID_CONFIG, "Invalid value x for"),
    "too small": (new("n", configs=configs(min_insync_replicas="0")), INVALID_CONFIG, "must be at least 1"),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("topic", "code", "message"), BAD.values(), ids=BAD.keys())
def test_what_cannot_be_made_is_told_with_code_and_message(
    simulation: Simulation, client: SimulatedClient, version: int, topic: dict[str, Any], code: int, message: str
) -> None:
    simulation.topic("t")
    (answer,) = created(client, version, topic)

    assert (answer.name, int(answer.error_code)) == (topic["name"], code)
    assert message in answer.error_message


@pytest.mark.parametrize("version", VERSIONS)
def test_a_name_that_fills_a_string_is_refused_with_a_message_that_fits(client: SimulatedClient, version: int) -> None:
    name = "x" * 32_767  # the longest that a string of a version before v5 can hold
    (answer,) = created(client, version, new(name))

    assert int(answer.error_code) == INVALID_TOPIC
    assert answer.error_message[-38:] == "longer than the max allowed length 249"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_setting_whose_name_fills_a_string_is_refused(client: SimulatedClient, version: int) -> None:
    (answer,) = created(client, version, new("n", configs=[{"name": "ä" * 16_383, "value": "1"}]))

    assert int(answer.error_code) == INVALID_CONFIG


@pytest.mark.parametrize("version", VERSIONS)
def test_a_name_that_comes_twice_is_refused_and_not_made(
    simulation: Simulation, client: SimulatedClient, version: int
) -> None:
    answers = codes(created(client, version, new("n"), new("m"), new("n")))

    assert sorted(answers) == [("m", 0), ("n", INVALID_REQUEST)]
    assert simulation.cluster.metadata.topic("n") is None


@pytest.mark.parametrize("version", VERSIONS)
def test_no_topics_are_no_answers(client: SimulatedClient, version: int) -> None:
    assert created(client, version) == []


def test_settings_act(simulation: Simulation, client: SimulatedClient) -> None:
    created(client, 7, new("n", configs=configs(min_insync_replicas="2", max_message_bytes="99")))

    config = simulation.partition("n").config
    assert (config.min_insync_replicas, config.max_message_bytes) == (2, 99)


def test_settings_that_are_only_stored_are_told_back(client: SimulatedClient) -> None:
    (topic,) = created(client, 7, new("n", configs=configs(retention_ms="1000")))

    assert ("retention.ms", "1000") in [(config.name, config.value) for config in topic.configs]
