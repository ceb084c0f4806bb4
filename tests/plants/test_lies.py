"""Planted lies: each turns a run red, with a row that names the cause, whatever the seed. An honest broker gives a
green verdict.

All runs are made without Spark, and then judged at once: three ways, and a copy of each two ways, as if there were no
journal.
FAKEBROKER_PLANT_SEEDS says how many seeds there are of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import lies
import lies_to_few
import other_lies
import planted
import pytest
from lies import appends_so
from planted import (
    ANSWERED,
    CONNECTIONS,
    EACH,
    FROZEN,
    PARTITIONS,
    REFUSED,
    SILENT,
    Lie,
    add_copies_without_journal,
    play,
    without_journal,
)
from pyspark.sql import SparkSession
from support import doses
from support.few_rows import FOR_FEW_ROWS

from fakebroker_load.job import judge_folder
from fakebroker_load.judging.mismatches import KINDS
from fakebroker_load.results.folder import MISMATCH_PARQUET
from fakebroker_load.session import spark_session
from fakebroker_load.verdict import Verdict

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.interpreted]

SEEDS = doses.seeds(1, 2, "FAKEBROKER_PLANT_SEEDS")
HIDING_US = 30_000
LATENESS_MS = 600_000  # no lie here is about lateness

LOSES = appends_so(lambda: lies.loses)
TWICE = appends_so(lambda: lies.appends_twice)
TOO_HIGH = appends_so(lambda: lies.tells_offsets_too_high)
RECORDS = {False: 1, True: 2 * PARTITIONS * 2}  # of a request
LIES: dict[str, Lie] = {
    "honest, acks=all": Lie(None, -1, ANSWERED),
    "honest, acks=1": Lie(None, 1, ANSWERED),
    "honest, acks=0": Lie(None, 0, SILENT),
    "honest, frozen": Lie(None, -1, FROZEN),
    "honest, lagging": Lie(None, -1, ANSWERED, followers_lag=True),
    "honest, in transactions": Lie(None, -1, ANSWERED, per_transaction=5),
    "honest, read": Lie(None, -1, ANSWERED, reads=True, followers_lag=True),
    "honest, read while frozen": Lie(None, -1, FROZEN, reads=True),
    "honest, members": Lie(None, -1, ANSWERED, members=True, each=40),
    "NONE, and not there, acks=all": Lie(LOSES, -1, ANSWERED, "lost"),
    "NONE, and not there, acks=1": Lie(LOSES, 1, ANSWERED, "lost"),
    "acks=0 dropped": Lie(LOSES, 0, SILENT, "lost"),
    "one in 13": Lie(appends_so(lambda: lies.LosesOneIn(13)), 1, ANSWERED, "lost"),
    "one in 1,000": Lie(appends_so(lambda: lies.LosesOneIn(1_000)), 1, ANSWERED, "lost", each=260),
    "7, and not there": Lie(appends_so(lambda: lies.times_out_without_append), -1, FROZEN, "timed out, not appended"),
    "twice": Lie(TWICE, 1, ANSWERED, "duplicated"),
    "twice, acks=0": Lie(TWICE, 0, SILENT, "duplicated"),
    "twice, frozen": Lie(TWICE, -1, FROZEN, "duplicated"),
    "1,000 too high": Lie(TOO_HIGH, 1, ANSWERED, "told another offset"),
    "1,000 too high, frozen": Lie(TOO_HIGH, -1, FROZEN, "told another offset"),
    "swapped": Lie(appends_so(lies.SwapsOffsets), 1, ANSWERED, "told another offset"),
    "other bytes": Lie(appends_so(lambda: lies.stores_other_bytes), 1, ANSWERED, "altered"),
    "elsewhere": Lie(appends_so(lies.StoresElsewhere), 1, ANSWERED, "in another partition"),
    "another order": Lie(appends_so(lies.Reorders), 0, SILENT, "reordered"),
    "refused, and there": Lie(appends_so(lambda: lies.refuses_what_it_wrote), -1, REFUSED, "refused, and written"),
    "of its own": Lie(appends_so(lambda: lies.writes_of_its_own), 1, ANSWERED, "in the log, and sent by nobody"),
    "a lost marker": Lie(
        lies.writes_markers(lies.loses_markers), -1, ANSWERED, "committed, and not shown", per_transaction=20
    ),
    "what was aborted is committed": Lie(
        lies.writes_markers(lies.commits_all), -1, ANSWERED, "duplicated", per_transaction=10
    ),
    "one in 1,000 is skipped": Lie(lies.skips_one_in(1_000), -1, ANSWERED, "not read", reads=True, each=300),
    "readers are shown all": Lie(lies.shows_readers_all, -1, FROZEN, "read beyond the watermark", reads=True),
    "readers are shown all, and told that they may": Lie(
        lies.shows_readers_all_as_if_it_might,
        -1,
        FROZEN,
        "read beyond the watermark",
        ways=3,
        alone="timed out after its watermark had passed",
        reads=True,
    ),
    "a record in 100 is skipped, members": Lie(lies.skips_one_in(100), -1, ANSWERED, "not read", members=True, each=40),
    "commits of any generation": Lie(
        lies.takes_commits_of_any_generation, -1, ANSWERED, "committed by an old generation", members=True, each=40
    ),
    "all to each member": Lie(
        lies.gives_all_to_each_member, -1, ANSWERED, "given to two members", members=True, each=40
    ),
    "honest, wide requests": Lie(None, -1, FROZEN, is_wide=True),
    "time-outs of the other partitions": Lie(
        other_lies.times_out_for_the_other_partitions,
        -1,
        FROZEN,
        "timed out after its watermark had passed",
        ways=3,
        alone="wrong answer",
        is_wide=True,
    ),
    "time-outs of all partitions": Lie(
        other_lies.times_out_for_all_partitions,
        -1,
        FROZEN,
        "timed out after its watermark had passed",
        ways=3,
        alone="wrong answer",
        is_wide=True,
    ),
    "honest, in raw transactions": Lie(None, -1, FROZEN, is_wide=True, transaction="commit"),
    "honest, in aborted transactions": Lie(None, -1, FROZEN, is_wide=True, transaction="abort"),
    "a lost marker, of raw requests": Lie(
        lies.writes_markers(lies.loses_markers),
        -1,
        FROZEN,
        "committed, and not shown",
        is_wide=True,
        transaction="commit",
    ),
    "what was aborted is committed, of raw requests": Lie(
        lies.writes_markers(lies.commits_all), -1, FROZEN, "written, and must not be", is_wide=True, transaction="abort"
    ),
    "honest, one frozen follower": Lie(None, -1, FROZEN, frozen_broker=3),
    "the fastest follower decides": Lie(
        other_lies.the_fastest_follower_decides, -1, FROZEN, "wrong answer", frozen_broker=3
    ),
    "honest, as far behind as the scenario says": Lie(None, -1, ANSWERED, followers_lag=True, tells_lag=True),
    "the leader alone decides, and the scenario says how far followers are behind": Lie(
        other_lies.the_leader_alone_decides, -1, ANSWERED, "early", followers_lag=True, tells_lag=True
    ),
    "in half the time": Lie(lies.times_out_in_half_the_time, -1, FROZEN, "early"),
    "always after 120 ms": Lie(
        lies.times_out_always_after(120), -1, FROZEN, amiss="time-outs do not follow", timeout_ms=(20, 100), each=20
    ),
    "followers replicate, and it times out": Lie(
        lies.times_out_though_followers_replicate,
        -1,
        FROZEN,
        "timed out after its watermark had passed",
        followers_lag=True,
        timeout_ms=(60, 100),
    ),
    "to another connection": Lie(
        lies.answers_on_another_connection, -1, FROZEN, "answered on another connection", grace_ms=500
    ),
    "acks=all as acks=1": Lie(
        lies.answers_all_as_if_the_leader_were_alone,
        -1,
        ANSWERED,
        "acknowledged before its watermark",
        freezes=True,
    ),
    "the end for the watermark": Lie(
        lies.shows_the_end_for_the_watermark,
        -1,
        FROZEN,
        "watermark shown too early",
        ways=3,
        alone="timed out after its watermark had passed",
    ),
    "honest, throttled": Lie(None, 1, ANSWERED, producer_byte_rate=800),
    "other times": Lie(appends_so(lambda: other_lies.stores_other_times), 1, ANSWERED, "stored with another time"),
    "as of a producer": Lie(appends_so(other_lies.StoresAsOfAProducer), 1, ANSWERED, "stored as of a producer"),
    "acknowledged, and deleted": Lie(
        appends_so(lambda: other_lies.deletes_what_it_acknowledged), 1, ANSWERED, "records gone"
    ),
    "a wrong CRC": Lie(other_lies.gives_batches_with_a_wrong_crc, 1, ANSWERED, "stored with a wrong CRC"),
    "a wrong CRC, to readers": Lie(
        other_lies.gives_batches_with_a_wrong_crc, -1, ANSWERED, "read with a wrong CRC", reads=True
    ),
    "hollow followers": Lie(other_lies.followers_say_that_they_have_all, -1, ANSWERED, "not on a follower"),
    "acks=1 is parked": Lie(
        other_lies.parks_whatever_acks_ask, 1, ANSWERED, "parked, against its acks", ways=3, followers_lag=True
    ),
    "less than is committed": Lie(
        other_lies.tells_less_than_is_committed(5), -1, ANSWERED, "a commit is gone", members=True, each=40
    ),
    "less than is committed, in transactions": Lie(
        other_lies.tells_less_than_is_committed(1), -1, ANSWERED, "duplicated", per_transaction=5
    ),
    "throttled, and not told": Lie(
        other_lies.throttles_and_does_not_tell,
        1,
        ANSWERED,
        "throttled, and not told",
        ways=3,
        producer_byte_rate=800,
    ),
    "a leader that is not in sync": Lie(
        other_lies.says_that_its_leader_is_not_in_sync, 1, ANSWERED, "led by a replica that is not in sync"
    ),
    "honest, Kafka's producer": Lie(None, -1, ANSWERED, of_producers=True, followers_lag=True),
    "acks=all as acks=1, Kafka's producer": Lie(
        lies.answers_all_as_if_the_leader_were_alone,
        -1,
        ANSWERED,
        "acknowledged before its watermark",
        ways=3,
        is_by_chance=True,
        of_producers=True,
        followers_lag=True,
    ),
    "always after 10 ms, Kafka's producer": Lie(
        lies.times_out_always_after(10), -1, ANSWERED, "early", ways=3, of_producers=True, followers_lag=True
    ),
    "refused, and there, Kafka's producer": Lie(
        lies_to_few.refuses_what_it_appended, -1, ANSWERED, "refused, and appended", ways=3, of_producers=True
    ),
    "the journal is ahead of what readers are shown": Lie(
        lies_to_few.says_at_once_that_the_watermark_moved,
        -1,
        ANSWERED,
        "watermark shown too late",
        ways=3,
        is_by_chance=True,
        reads=True,
        followers_lag=True,
    ),
    "appended, it says, and refused": Lie(
        lies_to_few.refuses_after_an_append_that_was_none,
        -1,
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "refused after its append, not appended",
    ),
    "as of a transaction": Lie(
        lies_to_few.says_of_transactions(True), -1, ANSWERED, "stored as of a transaction", of_producers=True
    ),
    "as of no transaction": Lie(
        lies_to_few.says_of_transactions(False),
        -1,
        FROZEN,
        "stored as of no transaction",
        is_wide=True,
        transaction="commit",
    ),
    "a marker with a wrong CRC": Lie(
        lies_to_few.gives_batches(lies_to_few.damages_markers),
        -1,
        FROZEN,
        "stored with a wrong CRC",
        is_wide=True,
        transaction="commit",
    ),
    "an answer that the journal lacks": Lie(
        lies.leaves_an_answer_out_of_its_journal, -1, ANSWERED, "answered by nobody", ways=3
    ),
}


class Judged(NamedTuple):
    """All runs and their copies without a journal."""

    verdict: Verdict
    problems: dict[str, dict[str, int]]  # run -> problem -> rows


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with spark_session("local[2]") as session:
        for name, value in FOR_FEW_ROWS.items():
            session.conf.set(name, value)
        yield session


# Every day another lie has the same problem, or rows by hand in tests/load/judging have it.
AT_NIGHT = {
    "time-outs of all partitions",
    "honest, in raw transactions",
    "a lost marker, of raw requests",
    "honest, acks=1",
    "honest, acks=0",
    "honest, lagging",
    "honest, one frozen follower",
    "honest, read while frozen",
    "NONE, and not there, acks=1",
    "acks=0 dropped",
    "one in 13",
    "one in 1,000",
    "twice, acks=0",
    "twice, frozen",
    "1,000 too high, frozen",
    "swapped",
    "one in 1,000 is skipped",
    "honest, throttled",
    "other times",
    "as of a producer",
    "less than is committed, in transactions",
    "a leader that is not in sync",
    "honest, read",
    "honest, in transactions",
    "throttled, and not told",
    "all to each member",
    "less than is committed",
    "to another connection",
}
ONE_IN_A_THOUSAND = ("one in 1,000", "one in 1,000 is skipped")


def asked_for(items: list[pytest.Item]) -> list[str]:
    """Return the lies of the tests in this session."""
    names = {"twice"}  # one at least is found by the log alone, so that the whole is red
    for item in items:
        if (call := getattr(item, "callspec", None)) is not None:
            names.add(str(call.params.get("name")))
        elif item.name == "test_one_in_a_thousand_is_one":
            names.update(ONE_IN_A_THOUSAND)
    return [name for name in LIES if name in names]


@pytest.fixture(scope="module")
def judged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Judged:
    out = tmp_path_factory.mktemp("lies")
    for name in asked_for(request.session.items):
        for seed in range(SEEDS):
            play(out, f"{name}/{seed}", LIES[name], seed)
    add_copies_without_journal(out)
    _, verdict = judge_folder(spark, out, LATENESS_MS)
    judged_ = Judged(verdict, {})
    for row in spark.read.parquet(str(out / MISMATCH_PARQUET)).groupBy("run", "kind", "problem").count().collect():
        judged_.problems.setdefault(row["run"], {})[row["problem"]] = row["count"]
        assert row["problem"] in KINDS[row["kind"]], row
    assert not json.loads((out / "verdict.json").read_text())["ok"]
    return judged_


@pytest.mark.parametrize("ways", [3, 2])
@pytest.mark.parametrize("name", doses.nightly_but([name for name in LIES if name not in AT_NIGHT], LIES))
def test_a_lie(judged: Judged, name: str, ways: int) -> None:
    lie = LIES[name]
    for seed in range(SEEDS):
        run = run_name(name, seed, ways)
        problems = judged.problems.get(run, {})
        (group,) = (group for group in judged.verdict.groups if (group.run, group.group) == (run, "g"))
        if lie.amiss is not None:
            # Responses alone show nothing if the load itself stood still for as long as the times differ. The journal
            # has the broker's own times.
            if ways == 3 or (group.load_late_us or 0) < HIDING_US:
                assert not group.ok
                assert any(lie.amiss in said for said in group.amiss), group.amiss
        elif ways < lie.ways and lie.is_by_chance:
            assert set(problems) <= {"acknowledged before its watermark"}
        elif (problem := lie.problem if ways >= lie.ways else lie.alone) is None:
            assert problems == {}
            assert group.ok
            assert group.confirmed == CONNECTIONS * lie.each * RECORDS[lie.is_wide]
        else:
            assert problems.get(problem), (run, problems)
            reasons = {reason.problem: reason for reason in judged.verdict.reasons if reason.run == run}
            assert reasons[problem].rows == problems[problem]
            assert reasons[problem].example["says"]


def run_name(name: str, seed: int, ways: int) -> str:
    run = f"{name}/{seed}"
    return run if ways == 3 else without_journal(run)


def test_the_journal_of_each_run_was_whole(judged: Judged) -> None:
    ways = {way.run: way.count for way in judged.verdict.ways}
    runs = [run for run in ways if without_journal(run) in ways]
    assert runs
    assert ways == dict.fromkeys(runs, 3) | dict.fromkeys(map(without_journal, runs), 2)


@pytest.mark.nightly  # every day: rows that are lost or not read, of fewer
def test_one_in_a_thousand_is_one(judged: Judged) -> None:
    for seed in range(SEEDS):
        assert judged.problems[f"one in 1,000/{seed}"]["lost"] == 1
        assert judged.problems[f"one in 1,000 is skipped/{seed}"] == {"not read": 1}


def test_without_a_journal_unsent_records_and_a_frozen_high_watermark_are_findings(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    play(tmp_path, "of its own", LIES["of its own"], 1, with_journal=False)
    monkeypatch.setattr(planted, "await_readable", lambda ends: dict.fromkeys(ends, 0))
    play(tmp_path, "hidden", LIES["honest, acks=1"], 1, with_journal=False)
    verdict = judge_folder(spark, tmp_path, LATENESS_MS)[1]
    own, hidden = verdict.groups
    assert not verdict.ok
    assert own.ok
    assert (verdict.records, verdict.unexplained) == (8 * EACH, 4 * EACH)
    assert hidden.problems == {"not readable": 4 * EACH}
