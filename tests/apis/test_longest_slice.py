"""Requests with very many elements: the longest slice of their handlers does not grow with their number."""

from __future__ import annotations

from typing import Any

import pytest
from support.handling import received
from support.simulation import Simulation
from support.slices import most_calls_of_a_slice

from benchmarks.turns.filled import CASES, Path, filled
from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.core.config.broker_configs.security import STANDARD_AUTHORIZER
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import encode_request, request_type
from fakebroker.protocol.slices import Slices

FEW, MANY = 512, 1_024  # a slice has at most 512 elements

# Arrays that a handler walks in one go, and how many calls each element takes there with Python 3.11. A request has at
# most fakebroker.request.max.elements elements. One call is a comprehension, or a set of the elements: 20,000 take a
# millisecond or two. Two are a loop that makes a tuple of each.
IN_ONE_GO: dict[str, int] = {
    "AddPartitionsToTxn.transactions.topics.partitions": 2,
    "AlterPartitionReassignments.topics": 1,
    "DescribeConfigs.resources": 1,
    "ElectLeaders.topic_partitions": 1,
    "Fetch.forgotten_topics_data": 1,
    "Fetch.forgotten_topics_data.partitions": 1,
    "Fetch.topics": 1,
    "WriteTxnMarkers.markers.topics.partition_indexes": 2,
}


# The same of requests that are refused as a whole.
REFUSED_IN_ONE_GO: dict[str, int] = {
    "AlterClientQuotas.entries.entity": 4,
    "AlterUserScramCredentials.deletions": 2,
    "AlterUserScramCredentials.upsertions": 2,
    "WriteTxnMarkers.markers.topics.partition_indexes": 3,
}

# Clients of a cluster with an authorizer: one that may do nothing, and one that may do everything.
GUARDED = {"authorizer.class.name": STANDARD_AUTHORIZER}
CONFIGS = {"refused": GUARDED, "allowed": GUARDED | {"super.users": "User:ANONYMOUS"}}


def most_calls(api: registry.Api, path: Path, count: int, config: dict[str, str] | None = None) -> int:
    """Return the calls of the longest slice of a request with `count` elements."""
    simulation = Simulation(config=config)
    simulation.topic("t", partitions=4)
    message = filled(request_type(api.key, api.max_version), path, count)
    _, context, decoded = received(simulation, encode_request(message, 1, "test")[4:])
    return most_calls_of_a_slice(lambda: begun(api, context, decoded))


def begun(api: registry.Api, context: RequestContext, decoded: Any) -> Slices[None] | None:
    """Begin to handle a request, as the dispatcher does."""
    try:
        slices = api.handle(context, decoded)
    except KafkaError as error:
        return api.error_response(context, decoded, error.code)
    return None if slices is None else handled(slices, api, context, decoded)


def handled(slices: Slices[None], api: registry.Api, context: RequestContext, decoded: Any) -> Slices[None]:
    try:
        yield from slices
    except KafkaError as error:
        rest = api.error_response(context, decoded, error.code)
        if rest is not None:
            yield from rest


@pytest.mark.interpreted
@pytest.mark.parametrize("case", CASES)
def test_the_longest_slice_does_not_grow_with_the_request(case: str) -> None:
    api, path = CASES[case]
    most_calls(api, path, MANY)  # what is made once, and what is remembered of the elements
    calls = (most_calls(api, path, MANY) - most_calls(api, path, FEW)) / (MANY - FEW)
    assert calls < 1.5 * IN_ONE_GO.get(case, 0) + 0.5, "calls of the longest slice, for each element more"
    assert case not in IN_ONE_GO or calls >= 0.5, "it is done in slices by now: remove it from IN_ONE_GO"


@pytest.mark.interpreted
@pytest.mark.parametrize("client", CONFIGS)
@pytest.mark.parametrize("case", CASES)
def test_the_longest_slice_does_not_grow_with_an_authorizer(case: str, client: str) -> None:
    api, path = CASES[case]
    config = CONFIGS[client]
    most_calls(api, path, MANY, config)
    calls = (most_calls(api, path, MANY, config) - most_calls(api, path, FEW, config)) / (MANY - FEW)
    in_one_go = max(IN_ONE_GO.get(case, 0), REFUSED_IN_ONE_GO.get(case, 0) if client == "refused" else 0)
    assert calls < 1.5 * in_one_go + 0.6, "calls of the longest slice, for each element more"


def test_what_is_done_in_one_go_is_there() -> None:
    assert IN_ONE_GO.keys() <= CASES.keys()
