"""Arrivals in a scenario: valid ones, and the messages for others."""

from __future__ import annotations

from typing import Any

import pytest

from fakebroker_load.arrivals import Arrivals, parse_arrivals
from fakebroker_load.scenario.model import LoadScenarioError
from fakebroker_load.scenario.reading import parse_scenario, parse_text


def test_each_process_takes_what_it_needs() -> None:
    assert parse_arrivals({"process": "poisson", "rate": 10}) == Arrivals("poisson", rate=10)
    assert parse_arrivals({"process": "bursts", "burst": 3, "every_ms": 7}) == Arrivals("bursts", burst=3, every_ms=7)
    steps = {"process": "steps", "steps": [[1, 100], [0.5, 900]]}
    assert parse_arrivals(steps) == Arrivals("steps", steps=((1.0, 100.0), (0.5, 900.0)))
    assert parse_arrivals({"process": "trace", "file": "f"}) == Arrivals("trace", file="f")


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ("poisson", "process that is known: constant, poisson, bursts, steps, trace"),
        ({"process": "fractal"}, "process that is known"),
        ({"process": "poisson"}, "process poisson, which takes rate"),
        ({"process": "bursts", "burst": 1, "rate": 2}, "process bursts, which takes burst and every_ms"),
        ({"process": "constant", "rate": 0}, "rate of 0"),
        ({"process": "constant", "rate": True}, "rate of True"),
        ({"process": "constant", "rate": 1e9}, "a number up to 1,000,000"),
        ({"process": "bursts", "burst": 0, "every_ms": 1}, "whole numbers above 0"),
        ({"process": "steps", "steps": []}, "a list of .seconds, rate."),
        ({"process": "steps", "steps": [[1, 2], [3]]}, "a list of .seconds, rate."),
        ({"process": "steps", "steps": [[1, -2]]}, "each above 0"),
        ({"process": "trace", "file": 5}, "file is a path"),
    ],
)
def test_what_is_wrong_is_told_with_its_group(data: Any, complaint: str) -> None:
    group = {"name": "g", "topic": "t", "acks": 1, "expect": "NONE", "arrivals": data}
    with pytest.raises(LoadScenarioError, match=f"The group 'g' has arrivals.*{complaint}"):
        parse_scenario({"name": "s", "groups": [group]})


def test_what_belongs_to_the_closed_loop_does_not_go_with_arrivals() -> None:
    group = {"name": "g", "topic": "t", "acks": 1, "expect": "NONE", "pipelined": 5}
    arrivals = {"process": "constant", "rate": 1}
    with pytest.raises(LoadScenarioError, match="neither pause_ms, ramp_ms nor pipelined"):
        parse_scenario({"name": "s", "groups": [group | {"arrivals": arrivals}]})


def test_a_trace_that_does_not_exist_is_found_when_the_scenario_is_read() -> None:
    text = "name: s\ngroups:\n  - name: g\n    topic: t\n    acks: -1\n    expect: NONE\n    arrivals:\n"
    text += "      process: trace\n      file: nowhere.txt\n"
    with pytest.raises(LoadScenarioError) as raised:
        parse_text(text, "s.yaml")
    assert str(raised.value) == (
        "s.yaml:9: The group 'g' has arrivals from the trace file 'nowhere.txt', which cannot be read: "
        "No such file or directory."
    )
