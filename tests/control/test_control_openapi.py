"""The whole OpenAPI, drawn at: no answer is a bug of ours, nothing hangs, each answer is as it is described, and the
cluster is sound afterwards.

What schemathesis draws is valid text and small numbers, one call at a time. support/hostile.py draws the rest: strings
that no UTF-8 has, numbers of thousands of digits, odd headers, in sequences of calls after which all lists are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from support import doses
from support.controlled import Controlled
from support.hostile import PYTHONS, Call, Operation, calls, check_is_json, in_path
from support.raw_client import RawClient
from support.requests import Produced, produce
from support.watchdog import LIMIT_S

from fakebroker import AsyncFakeCluster
from fakebroker.control.app import new_api
from fakebroker.control.clusters import Clusters

pytestmark = pytest.mark.changes_shared_cluster

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
LATE = (("ms", 10_000), ("elapsed_ms", 10_000), ("lag_ms", 10_000), ("lease_ms", 600_000))
NOT_DRAWN = "^/v1/events$|^/v1/clusters/{cluster_id}/"  # it has no end; the same as without the id
EXAMPLES = doses.count(2, 20)  # of each: forty things that can be asked, in two ways


@pytest.fixture(scope="module")
def drawn_at() -> Iterator[Controlled]:
    guarded: dict[str, Any] = {"acls": [], "config": {"allow.everyone.if.no.acl.found": True}}
    with Controlled(clock="manual", listeners=["PLAINTEXT", "SSL"], **guarded) as running:
        yield running
        sound(running)


DOCUMENT = new_api(Clusters(AsyncFakeCluster())).openapi()
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT).exclude(path_regex=NOT_DRAWN)
FOUND = [operation.ok() for operation in SCHEMA.get_all_operations() if isinstance(operation, Ok)]
OPERATIONS = {f"{operation.method.upper()} {operation.path}": operation for operation in FOUND}


@pytest.mark.parametrize("mode", GenerationMode)  # as described, or not
@pytest.mark.parametrize("name", OPERATIONS)
def test_whatever_is_asked_is_answered(drawn_at: Controlled, name: str, mode: GenerationMode) -> None:
    @given(case=OPERATIONS[name].as_strategy(generation_mode=mode))
    @settings(suppress_health_check=list(HealthCheck), max_examples=min(EXAMPLES, settings().max_examples))
    def ask(case: Any) -> None:
        bound(name, case.body)
        case.call_and_validate(base_url=drawn_at.control.url, checks=CHECKS, timeout=LIMIT_S)
        for cluster in drawn_at.get("/v1/clusters")["clusters"]:
            drawn_at.ask("DELETE", f"/v1/clusters/{cluster['id']}", status=204)

    try:
        ask()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE
        pytest.skip("there is nothing that could be asked wrongly")


FAULT = {
    "properties": {
        "when": {
            "type": "object",
            "properties": {
                **{name: {"type": "string"} for name in ("api", "client_id", "topic", "group", "resource", "at")},
                **{name: {"type": "integer"} for name in ("broker", "partition", "from_ms", "until_ms")},
            },
        },
        "do": {"enum": ["disconnect", "drop", "NOT_ENOUGH_REPLICAS", {"delay": 1}, "hold"]},
        "times": {"anyOf": [{"enum": ["once", "every_time", {"every": 2}]}, {"type": "integer"}]},
        "preset": {"enum": ["full_disk", "gc_pause"]},
    },
    "required": ["do"],
    "type": "object",
}


def operations() -> Iterator[Operation]:
    """Return all operations that end, except for those of other clusters."""
    for path, methods in DOCUMENT["paths"].items():
        if re.match(NOT_DRAWN, path):
            continue
        for method, described in methods.items():
            parameters = described.get("parameters", ())
            body = described.get("requestBody")
            yield Operation(
                method.upper(),
                path,
                FAULT if path == "/v1/faults" and body else body and body["content"]["application/json"]["schema"],
                {parameter["name"]: parameter["schema"] for parameter in parameters if parameter["in"] == "path"},
                {parameter["name"]: parameter["schema"] for parameter in parameters if parameter["in"] == "query"},
                DOCUMENT["components"]["schemas"],
            )


ALL = list(operations())
READ = [one.path for one in ALL if one.method == "GET" and not one.in_path and "timeline" not in one.path]
HOSTILE = [one for one in ALL if one.body or one.in_path or one.in_query]


@given(drawn=st.lists(calls(HOSTILE), min_size=3, max_size=12))
@settings(suppress_health_check=list(HealthCheck), max_examples=doses.count(8, 500))
@example(drawn=[Call("POST", "/v1/faults", {"do": "drop", "when": {"client_id": "\ud800"}}, True)])
@example(drawn=[Call("POST", "/v1/faults", {"do": "drop", "times": -1}, True)])
@example(drawn=[Call("POST", "/v1/clusters", {"racks": {"x": "a"}}, True)])
@example(drawn=[Call("GET", "/v1/cluster", header=(b"Origin", b"http://["))])
def test_hostile_calls_are_refused_in_words_and_leave_lists_that_can_be_read(
    drawn_at: Controlled, drawn: list[Call]
) -> None:
    for call in drawn:
        bound(call.path, call.body)
        answer = call.on(drawn_at.http)
        assert answer.status_code < 500, (call, answer.text)
        if answer.content and answer.headers.get("content-type") == "application/json":
            refusal = check_is_json(answer)
            if answer.status_code >= 400:
                assert not PYTHONS.search(refusal["error"]["message"]), refusal
    for path in READ:
        answer = drawn_at.http.get(path)
        assert answer.status_code == 200, answer.text
        if answer.headers["content-type"] == "application/json":
            check_is_json(answer)
    for fault in drawn_at.get("/v1/faults")["faults"]:
        assert fault.get("times") != -1
    for topic in drawn_at.get("/v1/topics")["topics"]:
        drawn_at.ask("DELETE", f"/v1/topics/{in_path(topic['name'])}", status=204)
    for cluster in drawn_at.get("/v1/clusters")["clusters"]:
        drawn_at.ask("DELETE", f"/v1/clusters/{cluster['id']}", status=204)
    drawn_at.ask("DELETE", "/v1/faults")


def bound(name: str, body: Any) -> None:
    """Limit waits, sizes of clusters and advances of the clock."""
    if isinstance(body, dict):
        if name.endswith(("/wait", "/expect")):
            body["timeout_wall_ms"] = 2
        for member, most in (("brokers", 3), ("partitions", 50), ("replication_factor", 3), *LATE):
            if isinstance(body.get(member), int):
                body[member] = min(body[member], most)


def sound(running: Controlled) -> None:
    """Check that a reset leaves a cluster in its initial state."""
    running.kafka._call(running.kafka._cluster.server.driver.cluster.check_invariants)
    assert running.ask("POST", "/v1/reset")["topics"] == 0
    running.ask("POST", "/v1/topics", {"name": "t"}, status=201)
    with RawClient(running.kafka.endpoints[0]) as client:
        assert Produced(client.ask(produce("t"))).partitions == {0: (0, 0)}


def test_everything_says_what_it_is() -> None:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            assert operation.get("description"), f"{method} {path}"
            assert operation["tags"]
    for name, body in DOCUMENT["components"]["schemas"].items():
        if body.get("additionalProperties") is False:
            assert body.get("examples") or name in ("Entity", "Lease"), name


def test_each_path_is_there_for_other_clusters_too() -> None:
    paths = DOCUMENT["paths"]
    mine = {path for path in paths if path.startswith("/v1/") and not path.startswith("/v1/clusters")}

    assert {f"/v1/clusters/{{cluster_id}}{path.removeprefix('/v1')}" for path in mine} <= paths.keys()
    ids = [operation["operationId"] for methods in paths.values() for operation in methods.values()]
    assert len(ids) == len(set(ids))
