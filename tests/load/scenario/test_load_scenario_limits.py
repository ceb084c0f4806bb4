"""The limits that a scenario sets: read, refused in one sentence with its line, and in the schema."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from fakebroker_load.scenario.limits import share_of
from fakebroker_load.scenario.model import LoadScenarioError
from fakebroker_load.scenario.reading import parse_scenario, parse_text
from fakebroker_load.scenario.schema import json_schema

GROUP: dict[str, Any] = {"name": "g", "topic": "t", "acks": -1, "expect": "NONE"}
READER: dict[str, Any] = {"name": "r", "topic": "t", "client": "reader"}


def scenario(change: dict[str, Any], *more: dict[str, Any]) -> dict[str, Any]:
    return {"name": "s", "groups": [GROUP | change, *more]}


def test_limits_are_read() -> None:
    data = scenario({"latency_limit_ms": {"p50": 5, "p99.9": 80.5, "max": 200}, "min_answers_per_s": 900})
    jsonschema.validate(data, json_schema())
    group = parse_scenario(data).groups[0]
    assert group.latency_limit_ms == {"p50": 5, "p99.9": 80.5, "max": 200}
    assert group.min_answers_per_s == 900
    assert parse_scenario(data).lateness_limit_ms == 500
    assert parse_scenario(data | {"lateness_limit_ms": 50}).lateness_limit_ms == 50
    assert parse_scenario(scenario({})).groups[0].latency_limit_ms == {}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"latency_limit_ms": 50}, "has latency_limit_ms = 50; it is a mapping of percentiles"),
        ({"latency_limit_ms": {}}, "it is a mapping of percentiles"),
        ({"latency_limit_ms": {"99": 50}}, "has latency_limit_ms 99: 50; it is a mapping"),
        ({"latency_limit_ms": {"p100": 50}}, "has latency_limit_ms p100: 50"),
        ({"latency_limit_ms": {"p99": 0}}, "has latency_limit_ms p99: 0"),
        ({"latency_limit_ms": {"p99": True}}, "has latency_limit_ms p99: True"),
        ({"latency_limit_ms": {"p99": "5"}}, "has latency_limit_ms p99: '5'"),
        ({"min_answers_per_s": -1}, "negative time or size: min_answers_per_s"),
        ({"min_answers_per_s": 0.5}, "not a whole number"),
        ({"acks": 0, "expect": "no answer", "min_answers_per_s": 5}, "acks 0, to which there is no answer: min_an"),
        ({"acks": 0, "expect": "no answer", "latency_limit_ms": {"p99": 5}}, "to which there is no answer: latency"),
    ],
)
def test_limits_that_make_no_sense_are_one_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(LoadScenarioError, match=sentence) as caught:
        parse_scenario(scenario(change))
    assert "\n" not in str(caught.value)


def test_a_reader_has_no_latency_limit_and_a_lateness_limit_is_a_whole_number_from_0() -> None:
    with pytest.raises(LoadScenarioError, match="is a reader, and that has no latency_limit_ms"):
        parse_scenario(scenario({}, READER | {"latency_limit_ms": {"p99": 5}}))
    with pytest.raises(LoadScenarioError, match="negative time: lateness_limit_ms"):
        parse_scenario(scenario({}) | {"lateness_limit_ms": -1})
    with pytest.raises(LoadScenarioError, match=r"lateness_limit_ms = 1\.5, which is not a whole number"):
        parse_scenario(scenario({}) | {"lateness_limit_ms": 1.5})


def test_a_slip_has_its_line() -> None:
    text = (
        "name: s\ngroups:\n  - name: g\n    topic: t\n    acks: -1\n    expect: NONE\n    latency_limit_ms: {q99: 5}\n"
    )
    with pytest.raises(LoadScenarioError, match=r"^f:7: .*latency_limit_ms q99: 5"):
        parse_text(text, "f")


@pytest.mark.parametrize(("name", "share"), [("p50", 0.5), ("p99.9", 0.999), ("max", 1.0)])
def test_shares(name: str, share: float) -> None:
    assert share_of(name) == pytest.approx(share)
    with pytest.raises(ValueError, match="is no percentile"):
        share_of(name + "%")
