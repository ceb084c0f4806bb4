"""Scenarios that set up their topics: green against plain `serve`, and the topics are deleted afterwards."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from pyspark.sql import SparkSession
from support.serving import Serving

from fakebroker_load.cli import main
from fakebroker_load.control import ControlCallError
from fakebroker_load.scenario.model import LoadScenario, LoadScenarioError, RequestGroup
from fakebroker_load.scenario.reading import bundled, load_scenario, parse_text
from fakebroker_load.scenario.setup import prepared

# Refused; or truncated by a new leader that was a frozen follower; or never sent; or read.
NOT_WRITTEN = {"NOT_ENOUGH_REPLICAS", "NOT_LEADER_OR_FOLLOWER", "expired", "read"}
WRITTEN_AGAIN = {"consume-transform-produce"}  # behind transactions that were aborted
OF_THE_DEMO = {"frozen", "healthy"}  # large, and run by tests/load/test_load_demo.py
# Every day the scenario of every client runs instead; tests/load/scenario and tests/load/traffic have in virtual time
# what the others do.
EVERY_CLIENT = """
name: every-client
brokers: 3
followers:
  - {topic: stuck, behaviour: frozen}
groups:
  - {name: source, topic: orders, partitions: 3, acks: -1, expect: NONE,
     connections: 3, requests_per_connection: 40, arrivals: {process: constant, rate: 60}}
  - {name: frozen, topic: stuck, partitions: 2, acks: -1, expect: REQUEST_TIMED_OUT, waits: true,
     connections: 2, requests_per_connection: 5, timeout_ms: [50, 200], pause_ms: 20}
  - {name: producer, client: producer, topic: others, partitions: 3, acks: -1, expect: NONE, written: once,
     connections: 3, requests_per_connection: 20, pause_ms: 20}
  - {name: transform, client: transform, generation: "4.4", source: orders, topic: seen, partitions: 3, acks: -1,
     expect: NONE, connections: 3, requests_per_connection: 40, per_transaction: 10, fail_every: 3}
  - {name: committed, client: reader, topic: orders, partitions: 3, connections: 3, isolation: read_committed,
     pause_ms: 100, fetch_bytes: 2000}
  - {name: of what is frozen, client: reader, topic: stuck, partitions: 2, connections: 2, until_ms: 2000}
  - {name: members, client: member, topic: orders, partitions: 3, connections: 3, session_ms: 1000,
     life_ms: [300, 600], vanish_every: 2, ramp_ms: 500}
"""
LATE = ("--lateness-limit-ms", "600000")  # a busy machine may be late, and this is not about that
SHORT_SESSIONS = ("group.min.session.timeout.ms=1000", "group.initial.rebalance.delay.ms=0")
SCENARIO = LoadScenario(
    "s",
    (RequestGroup("g", "orders", 1, "NONE", partitions=2),),
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
    control = Asked()

    def interrupted() -> None:
        with prepared(control, SCENARIO, "id") as own:
            assert own.topics == {"orders-id": 2}
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    configs = {"min.insync.replicas": 2}
    new = {"name": "orders-id", "partitions": 2, "replication_factor": 2, "configs": configs}
    assert control[1:] == [
        ("POST", "/v1/topics", new),
        ("PUT", "/v1/followers", {"topic": "orders-id", "behaviour": "frozen"}),
        ("DELETE", "/v1/topics/orders-id", None),
    ]


def test_topics_may_be_kept() -> None:
    control = Asked()
    with prepared(control, SCENARIO, "id", keep_topics=True):
        pass
    assert control[-1][0] == "PUT"


def test_a_topic_that_cannot_be_deleted_is_told_and_the_run_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    def ask(method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        if method == "DELETE":
            raise ControlCallError("it is gone.")
        return {"brokers": [1, 2]}

    with prepared(ask, SCENARIO, "id"):
        pass
    assert capsys.readouterr().err == "fakebroker-load: the topic orders-id stays: it is gone.\n"


def test_too_few_brokers() -> None:
    scenario = LoadScenario("s", SCENARIO.groups, brokers=3)
    with (
        pytest.raises(LoadScenarioError, match="needs 3 brokers, and the cluster has 2"),
        prepared(Asked(), scenario, "id"),
    ):
        pass


def clients_of(scenarios: Iterable[LoadScenario]) -> set[str]:
    return {group.client for scenario in scenarios for group in scenario.groups}


def test_the_scenario_of_every_day_has_clients_of_every_kind() -> None:
    assert clients_of([parse_text(EVERY_CLIENT, "every-client")]) == clients_of(map(load_scenario, bundled()))


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(set(bundled()) - OF_THE_DEMO))
def test_a_bundled_scenario_is_confirmed(
    name: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    check_confirmed(name, name in WRITTEN_AGAIN, tmp_path, monkeypatch, capfd)


@pytest.mark.spark
@pytest.mark.slow
def test_a_scenario_of_every_client_is_confirmed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "every-client.yaml"
    scenario.write_text(EVERY_CLIENT)
    check_confirmed(str(scenario), True, tmp_path / "out", monkeypatch, capfd, SHORT_SESSIONS, tmp_path / "journal")


def check_confirmed(
    scenario: str,
    is_written_again: bool,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    config: Sequence[str] = (),
    journal: Path | None = None,
) -> None:
    """Run the scenario by the command, against `serve`, which writes its journal to a file if one is given."""
    of_journal = [] if journal is None else ["--journal", str(journal)]
    options = [word for setting in config for word in ("--config", setting)] + of_journal
    with Serving("--brokers", "3", "--port", "0", "--control-port", "0", *options) as serving:
        url = serving.facts["control_url"]
        places = ["--bootstrap-server", serving.facts["bootstrap_servers"], "--control", url, "--out", str(out)]
        monkeypatch.setattr(sys, "argv", ["fakebroker-load", "run", scenario, *places, *of_journal, *LATE])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0, capfd.readouterr()
        verdict = json.loads((out / "verdict.json").read_text())
        assert verdict["ok"]
        written = [group["requests"] for group in verdict["groups"] if group["expected"] not in NOT_WRITTEN]
        if is_written_again:
            assert verdict["log_records"] > sum(written)
        else:
            assert verdict["log_records"] == sum(written)
        whose = f"the journal of {url}" if journal is None else f"the journal in {journal}"
        assert [(way["ways"], way["journal"]) for way in verdict["ways"]] == [(3, whose)]
        with urlopen(f"{url}/v1/topics") as answer:
            left = {topic["name"] for topic in json.load(answer)["topics"]}
        assert left <= {"__consumer_offsets", "__transaction_state"}  # the brokers' own: of a group, of transactions
