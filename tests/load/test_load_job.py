"""The whole load with Spark, against the stub broker."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest
from load_stub import frozen, healthy, stub_broker_thread
from pyspark.sql import SparkSession
from support.watchdog import LIMIT_S

from fakebroker_load.job import acted_late_ms, lags_ms, run_scenario
from fakebroker_load.judging.requests import judge
from fakebroker_load.progress import ProgressListener, ProgressSender
from fakebroker_load.results.folder import PARQUET, clear, read_runs
from fakebroker_load.scenario.model import LoadScenario, LoadScenarioError, RequestGroup
from fakebroker_load.traffic.rows import RESULT_SCHEMA
from fakebroker_load.verdict import summarise

SCENARIO = LoadScenario(
    "small",
    (
        RequestGroup(
            "waiting",
            "t",
            -1,
            "REQUEST_TIMED_OUT",
            True,
            partitions=2,
            connections=7,
            requests_per_connection=3,
            timeout_ms=(20, 60),
        ),
        RequestGroup("silent", "t", 0, "no answer", partitions=2, connections=2, requests_per_connection=3),
        RequestGroup("leader only", "t", 1, "NONE", partitions=2, connections=2, requests_per_connection=3),
    ),
)


@pytest.mark.spark
def test_a_run_that_goes_well_and_one_that_does_not(spark: SparkSession, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with stub_broker_thread(frozen) as broker:
        place = [("127.0.0.1", broker.port)]
        run_scenario(
            spark,
            SCENARIO,
            place,
            tmp_path,
            seed=5,
            read_back=False,
            on_progress=lambda sent, done: seen.append((sent, done)),
        )
        with pytest.raises(LoadScenarioError, match="already holds a run"):
            run_scenario(spark, SCENARIO, place, tmp_path, seed=5, read_back=False)
        broker.behave = healthy
        second = LoadScenario("healed", SCENARIO.groups)
        run_scenario(spark, second, place, tmp_path, seed=5, read_back=False)
    requests = spark.read.parquet(str(tmp_path / PARQUET))
    assert requests.columns == RESULT_SCHEMA.names
    runs = read_runs(tmp_path)
    assert [(run["scenario"]["name"], run["seed"], run["slots"]) for run in runs] == [("small", 5, 2), ("healed", 5, 2)]

    verdict = summarise(spark, judge(spark, requests).localCheckpoint(), runs)
    good, bad = verdict.groups[:3], verdict.groups[3:]
    assert all(group.ok for group in good), good
    assert [group.confirmed for group in good] == [21, 6, 6]
    assert [group.ok for group in bad] == [False, True, True]
    assert bad[0].problems == {"wrong answer": 21}
    assert not verdict.ok
    assert seen[-1] == (33, 33)

    clear(tmp_path)
    assert not list(tmp_path.iterdir())


def test_clearing_a_folder_leaves_what_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("old")
    (tmp_path / "thesis.tex").write_text("mine")
    clear(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    clear(tmp_path / "new" / "folder")
    assert (tmp_path / "new" / "folder").is_dir()


def test_progress_is_the_sum_over_the_tasks() -> None:
    complete = threading.Event()
    seen: list[tuple[int, int]] = []

    def note(sent: int, done: int) -> None:
        seen.append((sent, done))
        if (sent, done) == (7, 5):
            complete.set()

    with ProgressListener(note) as listener:
        first, second = ProgressSender(listener.address, 0), ProgressSender(listener.address, 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for noise in (b"\xff\xfe", b"{}", json.dumps([1]).encode(), b'["a", "b", "c"]'):
                stranger.sendto(noise, listener.address)
        first(1, 0)
        first(3, 2)
        second(4, 3)
        assert complete.wait(LIMIT_S), seen
    first(9, 9)  # the listener has gone, and nothing happens
    first.close()
    second.close()


def test_by_how_much_actions_were_late() -> None:
    done = [{"at_ms": 100, "begun_ms": 100}, {"at_ms": 200, "begun_ms": 290}]
    runs = [
        {"scenario": {"name": name}, "actions": actions} for name, actions in (("r", done), ("s", []), ("t", done[:1]))
    ]
    assert acted_late_ms([*runs, {"scenario": {"name": "old"}}]) == {"r": 90}


def test_how_late_followers_are_by_the_scenario() -> None:
    lagging = {"topic": "t", "behaviour": "lagging", "lag_ms": 100}
    for followers, expected in (
        ([lagging, {"topic": "u", "behaviour": "frozen"}], {"t": 100}),
        ([lagging | {"broker": 3}], {}),
        ([lagging | {"partition": 0}], {}),
        ([lagging, lagging | {"partition": 0, "lag_ms": 10}], {}),
        ([], {}),
    ):
        assert lags_ms({"name": "r", "followers": followers}) == expected
    assert lags_ms({"name": "r", "followers": [lagging], "actions": [{"at_ms": 9, "stop": 3}]}) == {}
    assert lags_ms({"name": "old"}) == {}
