"""Errors of CreateTopics, their order and messages, and the response about a new topic."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.messages import decode_response
from support.requests import CREATE_TOPICS, request
from support.simulation import Simulation

from fakebroker.protocol.error_code import ErrorCode

INVALID_REQUEST, INVALID_TOPIC, EXISTS, INVALID_PARTITIONS, INVALID_FACTOR, INVALID_ASSIGNMENT, INVALID_CONFIG = (
    42, 17, 36, 37, 38, 39, 40
)  # fmt: skip
POLICY_VIOLATION = 44


def new(
    name: str,
    n: int = 1,
    rf: int = 1,
    assignments: list[tuple[int, list[int]]] | None = None,
    configs: list[tuple[str, str | None]] | None = None,
) -> dict[str, Any]:
    return {
        "name": name,
        "num_partitions": n,
        "replication_factor": rf,
        "assignments": [{"partition_index": index, "broker_ids": ids} for index, ids in assignments or ()],
        "configs": [{"name": key, "value": value} for key, value in configs or ()],
    }


def create(simulation: Simulation, *topics: dict[str, Any], version: int = 7, validate_only: bool = False) -> Any:
    """Return the results of one request, in order."""
    values = {"topics": topics, "timeout": timedelta(seconds=1), "validate_only": validate_only}
    client = simulation.connect()
    client.send(request(CREATE_TOPICS, version, values))
    [(_, frame)] = client.answers
    return decode_response(CREATE_TOPICS, version, frame)[1].topics


def errors(answers: Any) -> list[tuple[str, int, str | None]]:
    return [(answer.name, int(answer.error_code), answer.error_message) for answer in answers]


def refused(*topic: Any, **kwargs: Any) -> tuple[int, str | None]:
    """Return code and text of the refusal of one topic, in a cluster of three brokers with a topic a.b."""
    simulation = Simulation()
    simulation.topic("a.b")
    [(_, code, message)] = errors(create(simulation, new(*topic, **kwargs)))
    assert simulation.cluster.metadata.topic_names() == ["a.b"]
    return code, message


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("a_b", INVALID_TOPIC, "Topic 'a_b' collides with existing topic: a.b"),
        ("a.b", EXISTS, "Topic 'a.b' already exists."),
        (".", INVALID_TOPIC, "Topic name is invalid: '.' is not allowed"),
        ("..", INVALID_TOPIC, "Topic name is invalid: '..' is not allowed"),
        ("", INVALID_TOPIC, "Topic name is invalid: the empty string is not allowed"),
        (
            "a b",
            INVALID_TOPIC,
            "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' "
            "and '-'",
        ),
        ("__cluster_metadata", INVALID_REQUEST, "Creation of internal topic __cluster_metadata is prohibited."),
    ],
)
def test_names_come_first(name: str, code: int, message: str) -> None:
    broken = new(name, 0, 0, [(0, [1]), (0, [1])], [("nonsense", None)])
    simulation = Simulation()
    simulation.topic("a.b")
    assert errors(create(simulation, broken)) == [(name, code, message)]


def test_names_of_one_request_do_not_collide() -> None:
    simulation = Simulation()
    assert [code for _, code, _ in errors(create(simulation, new("a.b"), new("a_b")))] == [0, 0]
    assert errors(create(simulation, new("a.b"), new("a_b"))) == [
        ("a.b", EXISTS, "Topic 'a.b' already exists."),
        ("a_b", EXISTS, "Topic 'a_b' already exists."),
    ]


def test_a_name_collides_as_long_as_one_of_those_like_it_is_there() -> None:
    simulation = Simulation()
    create(simulation, new("a.b"), new("a_b"))
    simulation.delete_topic("a_b")
    assert errors(create(simulation, new("a_b"))) == [
        ("a_b", INVALID_TOPIC, "Topic 'a_b' collides with existing topic: a.b")
    ]
    simulation.delete_topic("a.b")
    assert errors(create(simulation, new("a_b"))) == [("a_b", 0, None)]


def test_a_name_in_one_request_twice_is_answered_last_and_cluster_metadata_after_it() -> None:
    simulation = Simulation()
    answers = create(simulation, new("__cluster_metadata"), new("twice"), new("a"), new("twice"), new("b"))
    assert errors(answers) == [
        ("a", 0, None),
        ("b", 0, None),
        ("twice", INVALID_REQUEST, "Duplicate topic name."),
        ("__cluster_metadata", INVALID_REQUEST, "Creation of internal topic __cluster_metadata is prohibited."),
    ]
    assert simulation.cluster.metadata.topic_names() == ["a", "b"]


def test_nulls_come_before_other_configs_and_all_are_named() -> None:
    configs = [("b", None), ("nonsense", "1"), ("retention.ms", "abc"), ("a", None)]
    assert refused("t", 0, 0, configs=configs) == (
        INVALID_CONFIG,
        "Null value not supported for topic configs: b,a",
    )


def test_no_value_makes_up_for_a_null_of_the_same_name() -> None:
    configs = [("retention.ms", None), ("retention.ms", "1")]
    assert refused("t", configs=configs)[1] == "Null value not supported for topic configs: retention.ms"


@pytest.mark.parametrize(
    ("n", "rf", "value", "code"),
    [
        (0, 0, "abc", INVALID_CONFIG),
        (0, 0, "1", INVALID_FACTOR),
        (0, -2, "1", INVALID_FACTOR),
        (0, 9, "1", INVALID_PARTITIONS),
        (-2, 1, "1", INVALID_PARTITIONS),
        (1, 9, "1", INVALID_FACTOR),
    ],
)
def test_configs_then_factor_then_partitions_then_placement(n: int, rf: int, value: str, code: int) -> None:
    assert refused("t", n, rf, configs=[("retention.ms", value)])[0] == code


def test_too_few_brokers() -> None:
    assert refused("t", 1, 4) == (
        INVALID_FACTOR,
        "Unable to replicate the partition 4 time(s): The target replication factor of 4 cannot be reached because "
        "only 3 broker(s) are registered or some brokers have all their log directories cordoned.",
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("retention.ms", "abc"), ("retention.ms", "null"), ("max.message.bytes", "99999999999"), ("preallocate", "yes")],
)
def test_settings_that_are_only_kept_are_checked_too(name: str, value: str) -> None:
    code, message = refused("t", configs=[(name, value)])
    assert code == INVALID_CONFIG
    assert message is not None
    assert message.startswith(f"Invalid value {value} for configuration {name}: ")


@pytest.mark.parametrize(
    "topics",
    [
        [new("a", 5_000), new("b", 5_001)],
        [new("a", 10_000), new("b", -1, -1)],
        [new("a", 9_999), new("b", -1, -1, [(0, [1]), (0, [1])])],
        [new("..", 10_000), new("a", 1)],
        [new("a", 2**31 - 1), new("b", 2**31 - 1)],
    ],
)
@pytest.mark.parametrize("validate_only", [False, True])
def test_too_many_partitions_fail_the_whole_request(topics: list[dict[str, Any]], validate_only: bool) -> None:
    simulation = Simulation()
    answers = create(simulation, *topics, new("c", 0), new("twice"), new("twice"), validate_only=validate_only)
    text = "Excessively large number of partitions per request."
    names = [topic["name"] for topic in topics] + ["c", "twice", "twice"]
    assert errors(answers) == [(name, POLICY_VIOLATION, text) for name in names]
    assert simulation.cluster.metadata.topic_names() == []


@pytest.mark.parametrize(
    ("partitions", "is_enough", "validate_only"), [(9_996, True, True), (9_997, False, True), (9_997, False, False)]
)
def test_one_request_makes_a_bounded_number_of_records(partitions: int, is_enough: bool, validate_only: bool) -> None:
    """The request makes a record for each topic, partition and setting; above the bound it fails. A refused topic makes
    none."""
    simulation = Simulation()
    topics = [new("a", partitions, configs=[("retention.ms", "1")]), new("b", -1, -1), new("c", -5), new("a/b", 0)]
    answers = create(simulation, *topics, validate_only=validate_only)
    if is_enough:
        assert [code for _, code, _ in errors(answers)] == [0, 0, INVALID_PARTITIONS, INVALID_TOPIC]
    else:
        text = "Unable to perform excessively large batch operation."
        assert errors(answers) == [(topic["name"], POLICY_VIOLATION, text) for topic in topics]
    assert simulation.cluster.metadata.topic_names() == []


def test_ten_thousand_partitions_are_not_too_many_but_their_records_are() -> None:
    answers = create(Simulation(), new("a", 10_000), new("c", -5), validate_only=True)
    text = "Unable to perform excessively large batch operation."
    assert errors(answers) == [("a", POLICY_VIOLATION, text), ("c", POLICY_VIOLATION, text)]


MANUAL = "A manual partition assignment was specified, but "
INCLUDES = "The manual partition assignment includes "
CONSECUTIVE = "partitions should be a consecutive 0-based integer sequence"


@pytest.mark.parametrize(
    ("n", "rf", "assignments", "code", "message"),
    [
        (5, 5, [(0, [])], INVALID_REQUEST, MANUAL + "replication factor was not set to -1."),
        (5, -1, [(0, [])], INVALID_REQUEST, MANUAL + "numPartitions was not set to -1."),
        (
            -1,
            -1,
            [(1, [1]), (1, [])],
            INVALID_ASSIGNMENT,
            "Found multiple manual partition assignments for partition 1",
        ),
        (-1, -1, [(1, []), (1, [])], INVALID_ASSIGNMENT, INCLUDES + "an empty replica list."),
        (-1, -1, [(3, [9, 2, 2])], INVALID_ASSIGNMENT, INCLUDES + "the broker 2 more than once."),
        (
            -1,
            -1,
            [(3, [9, 2, 7])],
            INVALID_ASSIGNMENT,
            INCLUDES + "broker 7, but no such broker is registered.",
        ),
        (
            -1,
            -1,
            [(3, [1, 2]), (4, [3])],
            INVALID_ASSIGNMENT,
            INCLUDES + "a partition with 1 replica(s), but this is not consistent with previous partitions, which "
            "have 2 replica(s).",
        ),
        (-1, -1, [(0, [1]), (2, [1])], INVALID_ASSIGNMENT, CONSECUTIVE),
        (-1, -1, [(-1, [1])], INVALID_ASSIGNMENT, CONSECUTIVE),
    ],
)  # fmt: skip
def test_assignments(n: int, rf: int, assignments: list[tuple[int, list[int]]], code: int, message: str) -> None:
    assert refused("t", n, rf, assignments) == (code, message)


def test_an_assignment_in_any_order_is_followed() -> None:
    simulation = Simulation()
    [answer] = create(simulation, new("t", -1, -1, [(1, [3, 1]), (0, [2, 3])]))
    assert (int(answer.error_code), answer.num_partitions, answer.replication_factor) == (0, 2, 2)
    topic = simulation.cluster.metadata.topic("t")
    assert topic is not None
    assert [tuple(partition.replica_ids) for partition in topic.partitions] == [(2, 3), (3, 1)]


def test_a_failure_tells_no_configs_rather_than_null() -> None:
    [answer] = create(Simulation(), new("t", 0))
    assert answer.configs == ()
    assert (answer.num_partitions, answer.replication_factor, answer.topic_id) == (-1, -1, None)


def test_validation_answers_as_if_the_topic_were_made() -> None:
    simulation = Simulation()
    [answer] = create(simulation, new("t", 2, 3), validate_only=True)
    assert (answer.error_code, answer.num_partitions, answer.replication_factor) == (ErrorCode.none, 2, 3)
    assert answer.topic_id is not None
    assert simulation.cluster.metadata.topic_names() == []
    [again] = create(Simulation(), new("t", 2, 3), validate_only=True)
    assert again.topic_id == answer.topic_id, "the seed decides"


@pytest.mark.parametrize("version", [5, 7])
def test_all_effective_configs_are_told_sorted_and_with_their_source(version: int) -> None:
    simulation = Simulation(config={"min.insync.replicas": "2"})
    configs: list[tuple[str, str | None]] = [("retention.ms", " +7 "), ("cleanup.policy", "compact, delete")]
    [answer] = create(simulation, new("t", configs=configs), version=version)
    effective = {config.name: (config.value, config.config_source) for config in answer.configs}
    assert [config.name for config in answer.configs] == sorted(effective)
    assert len(effective) == 37
    assert effective["retention.ms"] == (" +7 ", 1)
    assert effective["cleanup.policy"] == ("compact, delete", 1)
    assert effective["min.insync.replicas"] == ("2", 3)  # a new cluster sets it for all brokers
    assert effective["max.message.bytes"] == ("1048588", 5)
    assert effective["flush.messages"] == ("9223372036854775807", 5)
    assert effective["min.cleanable.dirty.ratio"] == ("0.5", 5)
    assert effective["preallocate"] == ("false", 5)
    assert effective["leader.replication.throttled.replicas"] == ("", 5)
    assert not any(config.read_only or config.is_sensitive for config in answer.configs)
