"""The options of a cluster are the same wherever they can be given (server/made/spec.py)."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from fakebroker import AsyncFakeCluster, FakeCluster
from fakebroker.server.made.spec import CONTROL, MARKER, SCENARIO, ClusterSpec, Option, options
from fakebroker.server.scenario import scenario
from fakebroker.server.scenario.checking import schema
from fakebroker.testing.plugin import cluster_request, ini

OPTIONS = dict(options())
TYPES = get_type_hints(ClusterSpec)
JSON_TYPES = {int: "integer", str: "string", list: "array", dict: "object"}
LIMITED = [name for name, option in OPTIONS.items() if option.least is not None]
CHOSEN = [name for name, option in OPTIONS.items() if option.choices]


def made(**arguments: Any) -> AsyncFakeCluster:
    return AsyncFakeCluster(**arguments)


def of(place: str) -> dict[str, Option]:
    return {name: option for name, option in OPTIONS.items() if place in option.places}


@pytest.mark.parametrize("cluster", [AsyncFakeCluster, FakeCluster])
def test_a_cluster_takes_these_arguments(cluster: type) -> None:
    theirs, ours = inspect.signature(cluster).parameters, inspect.signature(ClusterSpec).parameters
    assert list(theirs) == list(ours)
    for name, parameter in theirs.items():
        assert (parameter.default, parameter.kind) == (ours[name].default, ours[name].kind), name
        assert parameter.annotation == ours[name].annotation, name


def test_a_blocking_cluster_has_the_methods_of_the_async_one() -> None:
    theirs = {name: method for name, method in vars(FakeCluster).items() if inspect.isfunction(method)}
    ours = dict(inspect.getmembers(AsyncFakeCluster, inspect.isfunction))
    names = {name for name in ours if not name.startswith("_")}
    assert names == {name for name in theirs if not name.startswith("_")}
    for name in names - {"hold"}:  # it returns a barrier of its own
        assert inspect.signature(theirs[name]) == inspect.signature(ours[name]), name
    assert "min.compaction.lag.ms" in (FakeCluster.compact.__doc__ or "")


def test_the_docstring_tells_of_each() -> None:
    words = set(re.findall(r"\w+", AsyncFakeCluster.__doc__ or ""))
    assert set(OPTIONS) <= words


@pytest.mark.parametrize("name", LIMITED)
def test_a_number_has_the_bounds_that_are_told(name: str) -> None:
    least, most = OPTIONS[name].least, OPTIONS[name].most
    assert least is not None
    assert most is not None
    for right in (least, most):
        made(**({"brokers": 1} | {name: right}))
    for wrong in (least - 1, most + 1):
        with pytest.raises(ValueError, match=rf"{least} to {most}|use 0, or 1 to {most}"):
            made(**({"brokers": 1} | {name: wrong}))


@pytest.mark.parametrize("name", CHOSEN)
def test_a_choice_is_one_of_those_that_are_told(name: str) -> None:
    for choice in OPTIONS[name].choices:
        made(**{name: choice})
    with pytest.raises(ValueError, match=".*".join(OPTIONS[name].choices)):
        made(**{name: "none of them"})


def test_a_scenario_has_these_keys() -> None:
    keys = {key: value for key, value in schema()["properties"].items() if key not in scenario._IN_THE_CLUSTER}
    assert keys.keys() == of(SCENARIO).keys()
    for name, option in of(SCENARIO).items():
        said = keys[name]
        said = said | schema()["$defs"][said["$ref"].rpartition("/")[2]] if "$ref" in said else said
        assert said.get("minimum") == option.least, name
        assert said.get("maximum") == option.most, name
        assert tuple(said.get("enum", ())) == option.choices, name
        assert option.choices or JSON_TYPES[plain_type(name)] == said["type"], name


def test_the_control_makes_clusters_of_these_members() -> None:
    bodies = pytest.importorskip("fakebroker.control.bodies", reason="the control is not installed")
    members = {name: field for name, field in bodies.NewCluster.model_fields.items() if name in OPTIONS}
    beside = bodies.NewCluster.model_fields.keys() - members.keys()
    assert members.keys() == of(CONTROL).keys()
    assert beside == bodies.Lease.model_fields.keys() | {"topics"}
    for name, option in of(CONTROL).items():
        bounds = {key: getattr(one, key) for one in members[name].metadata for key in ("ge", "le") if hasattr(one, key)}
        if option.least is not None:
            assert bounds == {"ge": option.least, "le": option.most}, name
        chosen = members[name].annotation
        assert (get_args(chosen) if get_origin(chosen) is Literal else ()) == option.choices, name
        default = members[name].get_default(call_default_factory=True)
        assert default in (getattr(ClusterSpec(), name), {}, 3), name  # it tells what None takes


def test_the_marker_takes_these_arguments() -> None:
    assert {*cluster_request._OF_CLUSTER.values(), "followers"} == of(MARKER).keys()
    assert set(cluster_request._OF_CLUSTER) < set(cluster_request.ARGUMENTS)
    assert {key.removeprefix("kafka_") for key in ini._KEYS} < set(cluster_request.ARGUMENTS)


def test_each_field_has_an_option() -> None:
    assert list(OPTIONS) == [field.name for field in fields(ClusterSpec)]


def plain_type(name: str) -> Any:
    """The type of an option, as JSON knows it."""
    first = (get_args(TYPES[name]) or (TYPES[name],))[0]
    origin = get_origin(first) or first
    return {"Sequence": list, "Mapping": dict}.get(origin.__name__, origin)
