"""Requests with very many elements: the longest slice of their handlers does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import timedelta
from typing import Any, get_args, get_origin
from uuid import UUID

import pytest
from support.any_request import without_none
from support.handling import received
from support.simulation import Simulation
from support.slices import most_calls_of_a_slice

from fakebroker.apis import registry
from fakebroker.protocol.messages import encode_request, request_type

FEW, MANY = 512, 1_024  # a slice has at most 512 elements

Path = tuple[str, ...]  # names of fields, from the request to an array

VALUES: dict[str, Any] = {
    "bool": False,
    "bytes": b"",
    "float64": 0.0,
    "records": b"",
    "string": "t",
    "timedelta_i32": timedelta(0),
    "timedelta_i64": timedelta(0),
    "uuid": UUID(int=7),
}
BY_NAME = {
    "acks": -1,
    "operation": 3,
    "pattern_type_filter": 3,
    "permission_type": 3,
    "replica_id": -1,
    "resource_pattern_type": 3,
    "resource_type": 2,
    "resource_type_filter": 2,
}

# Arrays that a handler walks in one go, and how many calls each element takes there with Python 3.11. A request has at
# most fakebroker.request.max.elements elements.
IN_ONE_GO: dict[str, int] = {
    "AddPartitionsToTxn.transactions.topics.partitions": 2,
    "AlterConfigs.resources.configs": 2,
    "AlterPartitionReassignments.topics": 1,
    "DeleteRecords.topics.partitions": 1,
    "DescribeConfigs.resources": 1,
    "ElectLeaders.topic_partitions": 1,
    "Fetch.forgotten_topics_data": 1,
    "Fetch.forgotten_topics_data.partitions": 1,
    "Fetch.topics": 6,
    "IncrementalAlterConfigs.resources.configs": 3,
    "ListPartitionReassignments.topics": 3,
    "Produce.topic_data": 5,
    "WriteTxnMarkers.markers.topics.partition_indexes": 2,
}


def filled(kind: Any, path: Path, count: int, number: int | None = None) -> Any:
    """Return a message or a struct. The array at the end of `path` has `count` different elements, other arrays on the
    path have one element, all others none. `number` tells an element from its neighbours."""
    values = {}
    for field in fields(kind):
        type_, is_nullable = without_none(field.type)
        if get_origin(type_) is not tuple:
            if not (is_dataclass(type_) and is_nullable) and "tag" not in field.metadata:
                values[field.name] = value(field, number)
            elif is_nullable:
                values[field.name] = None
            continue
        element, _ = without_none(get_args(type_)[0])
        numbers: list[int | None] = []
        if path[:1] == (field.name,):
            numbers = list(range(count)) if len(path) == 1 else [None]
        values[field.name] = tuple(
            filled(element, path[1:], count, each) if is_dataclass(element) else value(field, each) for each in numbers
        )
    return kind(**values)


def value(field: Any, number: int | None) -> Any:
    if field.name in BY_NAME:
        return BY_NAME[field.name]
    kind = field.metadata["kafka_type"]
    if number is None:
        return VALUES.get(kind, 0)
    if kind == "uuid":
        return UUID(int=1_000 + number)
    if kind == "string":
        return f"u{number}"
    return number if "partition" in field.name or field.name == "index" else VALUES.get(kind, 0)


def arrays(kind: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each array of a message."""
    for field in fields(kind):
        type_, _ = without_none(field.type)
        if get_origin(type_) is tuple:
            here = (*path, field.name)
            yield here
            element, _ = without_none(get_args(type_)[0])
            if is_dataclass(element):
                yield from arrays(element, here)


CASES = {
    ".".join((api.name, *path)): (api, path)
    for api in registry.load().values()
    for path in arrays(request_type(api.key, api.max_version))
}


def most_calls(api: registry.Api, path: Path, count: int) -> int:
    """Return the calls of the longest slice of a request with `count` elements."""
    simulation = Simulation()
    simulation.topic("t", partitions=4)
    message = filled(request_type(api.key, api.max_version), path, count)
    _, context, decoded = received(simulation, encode_request(message, 1, "test")[4:])
    return most_calls_of_a_slice(lambda: api.handle(context, decoded))


@pytest.mark.interpreted
@pytest.mark.parametrize("case", CASES)
def test_the_longest_slice_does_not_grow_with_the_request(case: str) -> None:
    api, path = CASES[case]
    most_calls(api, path, MANY)  # what is made once, and what is remembered of the elements
    calls = (most_calls(api, path, MANY) - most_calls(api, path, FEW)) / (MANY - FEW)
    assert calls < 1.5 * IN_ONE_GO.get(case, 0) + 0.5, "calls of the longest slice, for each element more"
    assert case not in IN_ONE_GO or calls >= 0.5, "it is done in slices by now: remove it from IN_ONE_GO"


def test_what_is_done_in_one_go_is_there() -> None:
    assert IN_ONE_GO.keys() <= CASES.keys()
