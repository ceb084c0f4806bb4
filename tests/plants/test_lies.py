"""Planted lies: each turns a run red, with a row that names the cause. The honest broker is green."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lies
import pytest
from pyspark.sql import SparkSession

from fakebroker import FakeCluster
from fakebroker.core.replication.partition import Partition
from fakebroker_load.job import judge_folder, run_scenario
from fakebroker_load.scenario.model import Group, Scenario
from fakebroker_load.session import spark_session

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PARTITIONS, EACH = 2, 10
LATENESS_MS = 10_000  # a busy machine may be late, and no lie here is about that
ANSWERED, REFUSED, FROZEN, SILENT = "NONE", "NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT", "no answer"

# What it does, acks, what is expected, and what must be said of it (None: nothing).
LIES: dict[str, tuple[Callable[[], Any] | None, int, str, str | None]] = {
    "honest, acks=all": (None, -1, ANSWERED, None),
    "honest, acks=1": (None, 1, ANSWERED, None),
    "honest, acks=0": (None, 0, SILENT, None),
    "honest, frozen": (None, -1, FROZEN, None),
    "NONE, and not there, acks=all": (lambda: lies.loses, -1, ANSWERED, "lost"),
    "NONE, and not there, acks=1": (lambda: lies.loses, 1, ANSWERED, "lost"),
    "acks=0 dropped": (lambda: lies.loses, 0, SILENT, "lost"),
    "one in 13": (lambda: lies.LosesOneIn(13), 1, ANSWERED, "lost"),
    "7, and not there": (lambda: lies.times_out_without_append, -1, FROZEN, "timed out, not appended"),
    "twice": (lambda: lies.appends_twice, 1, ANSWERED, "duplicated"),
    "twice, acks=0": (lambda: lies.appends_twice, 0, SILENT, "duplicated"),
    "twice, frozen": (lambda: lies.appends_twice, -1, FROZEN, "duplicated"),
    "1,000 too high": (lambda: lies.tells_offsets_too_high, 1, ANSWERED, "told another offset"),
    "1,000 too high, frozen": (lambda: lies.tells_offsets_too_high, -1, FROZEN, "told another offset"),
    "swapped": (lies.SwapsOffsets, 1, ANSWERED, "told another offset"),
    "other bytes": (lambda: lies.stores_other_bytes, 1, ANSWERED, "altered"),
    "elsewhere": (lies.StoresElsewhere, 1, ANSWERED, "in another partition"),
    "another order": (lies.Reorders, 0, SILENT, "reordered"),
    "refused, and there": (lambda: lies.refuses_what_it_wrote, -1, REFUSED, "refused, and written"),
}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with spark_session("local[2]") as session:
        yield session


def scenario(acks: int, expect: str) -> Scenario:
    group = Group(
        "g",
        lies.TOPIC,
        acks,
        expect,
        waits=expect == FROZEN,
        partitions=PARTITIONS,
        connections=4,
        requests_per_connection=EACH,
        timeout_ms=(20, 40) if expect == FROZEN else (5_000, 5_000),
    )
    return Scenario("lies", (group,))


def run(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, out: Path, lie: Any, acks: int, expect: str) -> Any:
    with FakeCluster(config={"replica.lag.time.max.ms": 3_600_000}) as kafka:
        # One broker leads both partitions, so that a record can go astray between them.
        kafka.create_topic(lies.TOPIC, assignments=[[1, 2, 3]] * PARTITIONS)
        if expect == FROZEN:
            kafka.followers.freeze(lies.TOPIC)
        if lie is not None:
            monkeypatch.setattr(Partition, "append_records_to_leader", lies.told(lie))
        place = [(broker.host, broker.port) for broker in kafka.endpoints]
        run_scenario(spark, scenario(acks, expect), place, out, seed=1, thaw=lambda: kafka.followers.resume(lies.TOPIC))
    return judge_folder(spark, out, LATENESS_MS)[1]


@pytest.mark.parametrize("name", LIES)
def test_a_lie(name: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make, acks, expect, problem = LIES[name]
    verdict = run(spark, monkeypatch, tmp_path, make() if make else None, acks, expect)
    (group,) = verdict.groups
    if problem is None:
        assert verdict.ok, group.problems
        assert (group.confirmed, verdict.records, verdict.unexplained) == (4 * EACH, 4 * EACH, 0)
    else:
        assert not verdict.ok
        assert group.problems.get(problem), group.problems
        assert json.loads((tmp_path / "verdict.json").read_text())["groups"][0]["problems"][problem]


def test_what_nobody_sent(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    verdict = run(spark, monkeypatch, tmp_path, lies.writes_of_its_own, 1, ANSWERED)
    assert not verdict.ok
    assert verdict.groups[0].ok
    assert (verdict.records, verdict.unexplained) == (8 * EACH, 4 * EACH)


def test_followers_that_stand_still_hide_the_end(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("fakebroker_load.job.await_readable", lambda ends: dict.fromkeys(ends, 0))
    verdict = run(spark, monkeypatch, tmp_path, None, 1, ANSWERED)
    assert verdict.groups[0].problems == {"not readable": 4 * EACH}
