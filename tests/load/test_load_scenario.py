from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from fakebroker_load.scenario.model import LoadScenario, LoadScenarioError, RequestGroup
from fakebroker_load.scenario.reading import FOLDER, bundled, load_scenario, parse_scenario, parse_text
from fakebroker_load.scenario.schema import json_schema

GROUP = {"name": "g", "topic": "t", "acks": -1, "expect": "REQUEST_TIMED_OUT"}


def test_the_bundled_scenarios_can_be_read() -> None:
    assert {"frozen", "healthy", "acks-all-timeout"} <= set(bundled())
    for name in bundled():
        assert load_scenario(name).name == name


@pytest.mark.parametrize(
    ("rule", "is_frozen"),
    [
        ({}, True),
        ({"broker": 3}, True),
        ({"broker": 2}, False),  # it leads the second partition
        ({"partition": 0}, False),
        ({"behaviour": "lagging"}, False),
    ],
)
def test_a_topic_is_frozen_if_a_follower_of_each_partition_is(rule: dict[str, Any], is_frozen: bool) -> None:
    scenario = load_scenario("one-frozen-follower")
    given = {"topic": "orders", "behaviour": "frozen"} | rule
    assert replace(scenario, followers=(given,)).frozen == ({"orders"} if is_frozen else set())


def test_the_frozen_scenario_is_what_the_demo_promises() -> None:
    main = load_scenario("frozen").groups[0]
    assert (main.acks, main.expect, main.waits) == (-1, "REQUEST_TIMED_OUT", True)
    assert main.requests >= 5_000
    assert main.connections == 500
    assert main.timeout_ms == (50, 2_000)


def test_both_demo_scenarios_use_the_same_topics() -> None:
    assert load_scenario("frozen").topics == load_scenario("healthy").topics == {"orders": 6, "payments": 6}


def test_a_scenario_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("name: mine\ngroups:\n  - {name: g, topic: t, acks: 0, expect: no answer, timeout_ms: 5}\n")
    scenario = load_scenario(str(file))
    assert scenario == LoadScenario("mine", (RequestGroup("g", "t", 0, "no answer", timeout_ms=(5, 5)),))
    assert scenario.groups[0].expected_error() is None


def test_a_group_knows_its_error_code() -> None:
    assert RequestGroup("g", "t", -1, "REQUEST_TIMED_OUT").expected_error() == 7
    assert RequestGroup("g", "t", -1, "NONE").expected_error() == 0


def test_a_group_knows_what_else_is_right() -> None:
    assert RequestGroup("g", "t", -1, "NONE").right_answers() == []
    assert RequestGroup("g", "t", 0, "no answer").right_answers() == []
    assert RequestGroup("g", "t", -1, "NONE", also={"NOT_LEADER_OR_FOLLOWER": 5, "closed": 1}).right_answers() == [
        "6",
        "closed",
    ]
    unknown = RequestGroup("g", "t", -1, "unknown")
    assert (unknown.expected_error(), unknown.right_answers()) == (None, ["no answer", "closed", "expired in flight"])


def test_topics_with_followers() -> None:
    groups = (RequestGroup("g", "t", 1, "NONE"), RequestGroup("h", "u", 1, "NONE"))
    assert LoadScenario("s", groups).replicated == []
    assert LoadScenario("s", groups, brokers=3).replicated == ["t", "u"]
    assert LoadScenario("s", groups, brokers=3, assignments={"t": [[1]]}).replicated == ["u"]
    assert LoadScenario("s", groups, assignments={"t": [[1, 2]]}).replicated == ["t"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"acks": 2}, "acks 2"),
        ({"acks": 0}, "no answer"),
        ({"expect": "no answer"}, "no answer"),
        ({"expect": "TOO_LATE"}, "does not have: TOO_LATE"),
        ({"acks": 1, "waits": True}, "waits"),
        ({"timeout_ms": [5, 4]}, "timeout_ms 5 to 4"),
        ({"timeout_ms": [-1, 4]}, "timeout_ms -1"),
        ({"timeout_ms": "soon"}, r"it is a number or a range"),
        ({"timeout_ms": [1, 2, 3]}, r"it is a number or a range"),
        ({"connections": 0}, "count below 1"),
        ({"pipelined": 0}, "count below 1"),
        ({"connections": "many"}, "not a whole number"),
        ({"connections": True}, "not a whole number"),
        ({"waits": 1}, "not true or false"),
        ({"pause_ms": -1}, "negative"),
        ({"record_bytes": 2_000_000}, "1,000,000"),
        ({"colour": "red"}, "not known: colour"),
        ({"connections": 2_000, "requests_per_connection": 1_000_000}, "2,000,000,000 requests"),
        ({"topic": ""}, "needs a name and a topic"),
        ({"also": ["NONE"]}, "it is a mapping, as in"),
        ({"also": {"NONE": 101}}, "also NONE: 101; it is a number of 0 to 100"),
        ({"also": {"NEVER": 1}}, "also 'NEVER', which is neither an error of Kafka's nor one of unknown, expired"),
        ({"acks": 0, "expect": "no answer", "also": {"NONE": 1}}, "acks 0, to which there is no other answer"),
        ({"acks": 0, "expect": "unknown"}, "acks 0 goes with"),
        ({"written": "twice"}, "written, which is once or never"),
        ({"throttled": 1}, "throttled = 1, which is not true or false"),
        ({"bytes_per_s": [5, 4]}, "bytes_per_s, and it is a number or a range of two that rises"),
    ],
)
def test_a_group_that_makes_no_sense_is_one_sentence(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(LoadScenarioError, match=sentence) as caught:
        parse_scenario({"name": "s", "groups": [GROUP | change]})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        {"groups": [GROUP]},
        {"name": "s"},
        {"name": "s", "groups": []},
        {"name": "s", "groups": 3},
        {"name": "s", "groups": [3]},
        {"name": "s", "groups": [GROUP, GROUP]},
        {"name": "s", "groups": [{"name": "g"}]},
        {"name": "s", "groups": [GROUP], "rate": 3},
        {"name": "s", "groups": [GROUP], "send_delay_limit_ms": -1},
        {"name": "s", "groups": [GROUP], "send_delay_limit_ms": True},
    ],
)
def test_a_scenario_that_makes_no_sense_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(LoadScenarioError):
        parse_scenario(data)


def test_a_scenario_says_how_late_it_may_be_sent() -> None:
    assert parse_scenario({"name": "s", "groups": [GROUP]}).send_delay_limit_ms == 2_000
    assert parse_scenario({"name": "s", "groups": [GROUP], "send_delay_limit_ms": 5}).send_delay_limit_ms == 5


def test_files_that_are_no_scenario(tmp_path: Path) -> None:
    with pytest.raises(LoadScenarioError, match=r"neither a file nor one of .*frozen, group-churn, healthy"):
        load_scenario("nope")
    old = tmp_path / "old.toml"
    old.write_text('name = "mine"')
    with pytest.raises(LoadScenarioError, match="is TOML; scenarios are YAML now"):
        load_scenario(str(old))
    bad = tmp_path / "bad.yaml"
    bad.write_text("name: s\n]")
    with pytest.raises(LoadScenarioError, match=r"bad\.yaml:2: this is not valid YAML"):
        load_scenario(str(bad))
    with pytest.raises(LoadScenarioError, match="cannot be read"):
        load_scenario(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name: s\ngroups:\n  - name: g\n    topic: t\n    ack: 1\n", "f:5: .*not known: ack; 'acks' may be meant"),
        ("name: s\nname: t\n", "f:2: 'name' is here twice"),
        (
            "name: s\nrate: 3\ngroups: []\n",
            "f:2: .*not known: rate; there are name, about, groups",
        ),
        ("name: s\ngroups:\n  - name: g\n    topic: t\n    acks: 7\n    expect: NONE\n", "f:5: .*acks 7"),
        ("name: s\ngroups:\n  - {name: g, topic: t,\n    acks: 1, expect: NO}\n", "f:4: .*expect = False"),
        ("name: s\ngroups:\n  - name: g\n", "f:3: .*lacks the field acks"),
        ("name: 3\ngroups: []\n", "f:1: .*not a text"),
        ("[1]", "f:1: A scenario is a mapping"),
        ("1: 2", "f:1: a key must be a word"),
    ],
)
def test_a_slip_is_told_with_file_line_and_key(text: str, sentence: str) -> None:
    with pytest.raises(LoadScenarioError, match=sentence) as caught:
        parse_text(text, "f")
    assert "\n" not in str(caught.value)


def test_the_schema_takes_what_is_bundled_and_refuses_what_is_unknown() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    validator = jsonschema.Draft202012Validator(json_schema())
    for name in bundled():
        validator.validate(yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")))
    assert not validator.is_valid({"name": "s", "groups": [GROUP | {"colour": "red"}]})
    assert not validator.is_valid({"name": "s", "groups": [GROUP | {"connections": 0}]})
    assert not validator.is_valid({"name": "s", "groups": []})
