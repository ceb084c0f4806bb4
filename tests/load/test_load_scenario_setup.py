"""Scenarios that set up what they need: green against plain `serve`, in own topics, which are gone afterwards."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from pyspark.sql import SparkSession
from support import doses
from support.serving import Serving

from fakebroker_load.cli import main
from fakebroker_load.control import ControlError
from fakebroker_load.scenario.model import Group, Scenario, ScenarioError
from fakebroker_load.scenario.reading import bundled, load_scenario
from fakebroker_load.scenario.setup import prepared

# Refused, or truncated by the new leader, whose followers stood still; or never sent; or read.
NOT_WRITTEN = {"NOT_ENOUGH_REPLICAS", "NOT_LEADER_OR_FOLLOWER", "expired", "read"}
WRITTEN_AGAIN = {"consume-transform-produce"}  # behind transactions that were aborted
OF_THE_DEMO = {"frozen", "healthy"}  # large, and run by tests/load/test_load_demo.py
# Clients of every kind; tests/load/scenario and tests/load/traffic have in virtual time what the others do.
EVERYDAY = ("consume-transform-produce", "expired-batches", "group-churn", "slow-readers")
SCENARIO = Scenario(
    "s",
    (Group("g", "orders", 1, "NONE", partitions=2),),
    brokers=2,
    configs={"orders": {"min.insync.replicas": 2}},
    followers=({"topic": "orders", "behaviour": "frozen"},),
)


class Asked(list[tuple[str, str, Any]]):
    """A control of two brokers that does nothing."""

    def __call__(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        self.append((method, path, body))
        return {"brokers": [1, 2]} if path == "/v1/cluster" else None


def test_topics_are_of_the_run_and_go_even_when_it_fails() -> None:
    asked = Asked()

    def interrupted() -> None:
        with prepared(asked, SCENARIO, "id") as own:
            assert own.topics == {"orders-id": 2}
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    configs = {"min.insync.replicas": 2}
    new = {"name": "orders-id", "partitions": 2, "replication_factor": 2, "configs": configs}
    assert asked[1:] == [
        ("POST", "/v1/topics", new),
        ("PUT", "/v1/followers", {"topic": "orders-id", "behaviour": "frozen"}),
        ("DELETE", "/v1/topics/orders-id", None),
    ]


def test_topics_may_be_kept() -> None:
    asked = Asked()
    with prepared(asked, SCENARIO, "id", keep_topics=True):
        pass
    assert asked[-1][0] == "PUT"


def test_a_topic_that_cannot_be_deleted_is_told_and_the_run_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    def ask(method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        if method == "DELETE":
            raise ControlError("it is gone.")
        return {"brokers": [1, 2]}

    with prepared(ask, SCENARIO, "id"):
        pass
    assert capsys.readouterr().err == "fakebroker-load: the topic orders-id stays: it is gone.\n"


def test_too_few_brokers() -> None:
    scenario = Scenario("s", SCENARIO.groups, brokers=3)
    with (
        pytest.raises(ScenarioError, match="needs 3 brokers, and the cluster has 2"),
        prepared(Asked(), scenario, "id"),
    ):
        pass


def clients_of(names: Iterable[str]) -> set[str]:
    return {group.client for name in names for group in load_scenario(name).groups}


def test_the_scenarios_of_every_day_have_clients_of_every_kind() -> None:
    assert clients_of(EVERYDAY) == clients_of(bundled())


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("name", doses.nightly_but(EVERYDAY, sorted(set(bundled()) - OF_THE_DEMO)))
def test_a_bundled_scenario_is_confirmed(
    name: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with Serving("--brokers", "3", "--port", "0", "--control-port", "0") as serving:
        url = serving.facts["control_url"]
        places = ["--bootstrap-server", serving.facts["bootstrap_servers"], "--control", url, "--out", str(tmp_path)]
        # A busy machine may be late, and this is not about that; early is early on any machine.
        monkeypatch.setattr(sys, "argv", ["fakebroker-load", "run", name, *places, "--lateness-limit-ms", "600000"])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0, capfd.readouterr()
        verdict = json.loads((tmp_path / "verdict.json").read_text())
        assert verdict["ok"]
        written = [group["requests"] for group in verdict["groups"] if group["expected"] not in NOT_WRITTEN]
        if name in WRITTEN_AGAIN:
            assert verdict["log_records"] > sum(written)
        else:
            assert verdict["log_records"] == sum(written)
        assert [(way["ways"], way["journal"]) for way in verdict["ways"]] == [(3, f"the journal of {url}")]
        with urlopen(f"{url}/v1/topics") as answer:
            left = {topic["name"] for topic in json.load(answer)["topics"]}
        assert left <= {"__consumer_offsets", "__transaction_state"}  # the brokers' own: of a group, of transactions
