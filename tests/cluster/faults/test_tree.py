"""The walk covers every field of every response that can have an error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args, get_type_hints

import pytest
from support.faulty import FaultyCluster

from fakebroker.apis import registry
from fakebroker.cluster.faults.tree import BRANCHES, Tree
from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.faults.table import api_keys, table
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import request_type, response_type

DESCRIBE_CONFIGS = 32
OF_A_TOPIC = {"Metadata", "DescribeTopicPartitions"}  # partitions are no parts of what is asked for


def items(kind: Any) -> Any:
    """Return the struct of an array's items; None if they are no structs."""
    classes = [argument for argument in get_args(kind) if is_dataclass(argument)]
    classes += [inner for argument in get_args(kind) for inner in get_args(argument) if is_dataclass(inner)]
    return classes[0] if classes else None


def paths_to_errors(kind: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the fields that lead to an error code."""
    hints = get_type_hints(kind)
    for field in fields(kind):
        if field.name in ("error_code", "partition_error_code"):
            yield path
        elif (inner := items(hints[field.name])) is not None:
            yield from paths_to_errors(inner, (*path, field.name))


def filled(kind: Any, path: tuple[str, ...]) -> Any:
    """Return a message with one item in each array on the path, and nothing else."""
    nothing: dict[str, Any] = {field.name: None for field in fields(kind)}
    if not path:
        return kind(**nothing)
    return kind(**nothing | {path[0]: (filled(items(get_type_hints(kind)[path[0]]), path[1:]),)})


@pytest.mark.parametrize(
    ("resource_type", "name"),
    [(2, "topic"), (4, "broker"), (8, "broker_logger"), (16, "client_metrics"), (32, "group"), (1, "")],
)
def test_a_resource_has_its_type_by_name(resource_type: int, name: str) -> None:
    """ConfigResource.Type of Kafka."""
    api = registry.load()[api_keys()["DescribeConfigs"]]
    result = filled(response_type(api.key, api.max_version), ("results",)).results[0]
    tree = Tree("DescribeConfigs", lambda topic_id, topic: (topic_id, topic))
    roles = tree.roles_of(replace(result, resource_type=resource_type, resource_name="x"))
    assert (roles["resource_type"], roles["resource"]) == (name, "x")


@pytest.mark.parametrize("name", table())
def test_every_error_of_an_answer_is_reached(name: str) -> None:
    api = registry.load()[api_keys()[name]]
    tree = Tree(name, lambda topic_id, topic: (topic_id, topic))
    for version in range(api.min_version, api.max_version + 1):
        for path in paths_to_errors(response_type(api.key, version)):
            if name in OF_A_TOPIC and path[-1:] == ("partitions",):
                continue
            answer = tree.with_errors(filled(response_type(api.key, version), path), (), ErrorCode.unknown_server_error)
            node = answer
            for field in path:
                [node] = getattr(node, field)
            code = getattr(node, "error_code", None) or getattr(node, "partition_error_code", None)
            assert code is ErrorCode.unknown_server_error, (name, version, path)


@pytest.mark.parametrize("name", [name for name, errors in table().items() if errors.not_parts])
def test_what_an_api_declares_to_be_no_part_is_a_field_that_the_walk_would_enter(name: str) -> None:
    api = registry.load()[api_keys()[name]]
    kinds = [kind(api.key, api.max_version) for kind in (request_type, response_type)]
    entered = {field for kind in kinds for field in fields_with_items(kind)}
    assert set(table()[name].not_parts) <= entered & BRANCHES


def fields_with_items(kind: Any) -> Iterator[str]:
    """Yield the names of all arrays of a message, at any depth."""
    for name, hint in get_type_hints(kind).items():
        if get_args(hint) and is_dataclass(kind):
            yield name
        if (inner := items(hint)) is not None:
            yield from fields_with_items(inner)


@pytest.mark.parametrize(
    ("resource", "refused"), [("topic:t", ["t"]), ("t", ["t"]), ("topic:u", ["u"]), ("group:t", [])]
)
def test_a_fault_of_a_resource_is_for_this_resource_only(resource: str, refused: list[str]) -> None:
    kafka = FaultyCluster(partitions=1)
    kafka.cluster.admin.create_topic(NewTopic("u", 1, 1), kafka.now)
    kafka.add({"api": "DescribeConfigs", "resource": resource}, "INVALID_REQUEST", times="every_time")
    resources = tuple(
        {"resource_type": 2, "resource_name": name, "configuration_keys": ("retention.ms",)} for name in ("t", "u")
    )
    answer = kafka.connect().ask(DESCRIBE_CONFIGS, 4, resources=resources)
    assert [
        result.resource_name for result in answer.results if result.error_code is ErrorCode.invalid_request
    ] == refused
