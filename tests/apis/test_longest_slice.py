"""Requests with very many elements: the longest slice of their handlers does not grow with their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support import doses
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

# A cluster without an authorizer; clients of one with it that may do nothing, and that may do everything.
GUARDED = {"authorizer.class.name": STANDARD_AUTHORIZER}
CONFIGS: dict[str, dict[str, str]] = {
    "open": {},
    "refused": GUARDED,
    "allowed": GUARDED | {"super.users": "User:ANONYMOUS"},
}

# Every day each array is tried in the open cluster. The other clients send the first array of each API, since a handler
# authorizes the outermost elements. They also send the arrays that a refused request walks in one go.
GUARDED_EVERY_DAY = {*REFUSED_IN_ONE_GO, *{case.partition(".")[0]: case for case in reversed(CASES)}.values()}


def clients_of(case: str) -> list[str]:
    return list(CONFIGS) if doses.is_nightly() or case in GUARDED_EVERY_DAY else ["open"]


def frame_of(api: registry.Api, path: Path, count: int) -> bytes:
    """Return a request with `count` elements, without its length."""
    return encode_request(filled(request_type(api.key, api.max_version), path, count), 1, "test")[4:]


def prepared(api: registry.Api, frame: bytes, config: dict[str, str]) -> Callable[[], Slices[None] | None]:
    """Return what begins to handle the request, in a cluster of its own."""
    simulation = Simulation(config=config)
    simulation.topic("t", partitions=4)
    _, context, decoded = received(simulation, frame)
    return lambda: begun(api, context, decoded)


def calls_per_element(api: registry.Api, few: bytes, many: bytes, config: dict[str, str]) -> float:
    """Return how many calls the longest slice takes for each element more."""
    for _ in prepared(api, many, config)() or ():
        pass  # what is made once, and what is remembered of the elements
    longest = [most_calls_of_a_slice(prepared(api, frame, config)) for frame in (few, many)]
    return (longest[1] - longest[0]) / (MANY - FEW)


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
    few, many = frame_of(api, path, FEW), frame_of(api, path, MANY)
    for client in clients_of(case):
        calls = calls_per_element(api, few, many, CONFIGS[client])
        in_one_go = max(IN_ONE_GO.get(case, 0), REFUSED_IN_ONE_GO.get(case, 0) if client == "refused" else 0)
        assert calls < 1.5 * in_one_go + 0.6, f"{client}: calls of the longest slice, for each element more"
        if client == "open" and case in IN_ONE_GO:
            assert calls >= 0.5, "it is done in slices by now: remove it from IN_ONE_GO"


def test_what_is_done_in_one_go_is_there() -> None:
    assert IN_ONE_GO.keys() | REFUSED_IN_ONE_GO.keys() <= CASES.keys()


def test_each_api_has_every_client_every_day() -> None:
    assert {CASES[case][0].key for case in GUARDED_EVERY_DAY} == {api.key for api, _ in CASES.values()}
