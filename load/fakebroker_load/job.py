"""The run of a scenario with Spark: plan -> mapInArrow(worker) -> Parquet.

Shape    An output folder holds these files. Several runs may share a folder: each adds its part and its entry.
         - `run.json`: what was run, where, with which versions
         - `requests.parquet`: one row per request
         - `log.parquet`: one row per record that is in the log in the end
         - `partitions.parquet`: where those logs begin and end
         - `journal.parquet`: the broker's events during the run, if it keeps a journal
         - `mismatches.parquet`: added by the verdict, if there are any
         - `manifest.json`: the list of all files (results/manifest.py)
Theory   The stage is a barrier stage: Spark starts all its tasks at the same time or refuses. Through the barrier the
         tasks also agree on the common start.
Errors   LoadScenarioError, WireError, DamagedResults, all with a sentence for the user.
"""

from __future__ import annotations

import shutil
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas  # noqa: F401  # mapInArrow asks for it, but only when Spark runs: what is missing is told before
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from fakebroker_load.journal.file_window import window_of
from fakebroker_load.journal.lines import JOURNAL_SCHEMA
from fakebroker_load.journal.taps import Tap
from fakebroker_load.judging.by_journal import judge_by_journal
from fakebroker_load.judging.logs import logs_amiss
from fakebroker_load.judging.mismatches import mismatches
from fakebroker_load.judging.partitions import gathered, keep_in, spread
from fakebroker_load.judging.readers import judge_readers
from fakebroker_load.judging.requests import FEW, LogTables, judge
from fakebroker_load.judging.time_slices import slices_of
from fakebroker_load.judging.ways import has_journal
from fakebroker_load.log import (
    LogEnd,
    Place,
    ShownWatermark,
    await_readable,
    log_ends,
    part_rows,
    shown_watermarks,
    standing_still,
)
from fakebroker_load.plan import plan_connections, to_frame
from fakebroker_load.progress import ProgressListener
from fakebroker_load.reports.facts import brokers_of, command_line, describe_machine
from fakebroker_load.results.folder import (
    JOURNAL_PARQUET,
    JUDGED_PARQUET,
    LOG_FOLDERS,
    LOG_PARQUET,
    MISMATCH_PARQUET,
    PARQUET,
    PARTS_PARQUET,
    RUN_FILE,
    VERDICT_FILE,
    planned_rows,
    read_runs,
    recorded_of,
)
from fakebroker_load.results.manifest import seal, write_runs
from fakebroker_load.scenario.actions import ScenarioActor
from fakebroker_load.scenario.model import DEFAULT_LATENESS_LIMIT_MS, LoadScenario, LoadScenarioError
from fakebroker_load.spark.clocks import clock_facts
from fakebroker_load.spark.failures import cancelled_if_left, told
from fakebroker_load.spark.load_task import make_task
from fakebroker_load.spark.master import LOOPBACK
from fakebroker_load.spark.reading_back import read_back
from fakebroker_load.traffic.rows import RESULT_SCHEMA
from fakebroker_load.verdict import Verdict, reasons_of, summarise
from fakebroker_load.wire.client import find_leaders
from fakebroker_load.wire.messages import ClusterMetadata
from fakebroker_load.worker import run_in_loop

CHECKPOINTS = ".checkpoints"
Bootstrap = list[tuple[str, int]]
OnProgress = Callable[[int, int], None]  # sent, done


def run_scenario(
    spark: SparkSession,
    scenario: LoadScenario,
    bootstrap: Bootstrap,
    out: Path,
    *,
    seed: int,
    grace_ms: int = 5_000,
    on_progress: OnProgress = lambda sent, done: None,
    read_back: bool = True,
    thaw: Callable[[], None] = lambda: None,
    run_id: str | None = None,
    tap: Tap | None = None,
    actor: ScenarioActor | None = None,
    slots: int | None = None,
    machine_late_ms: Callable[[], int | None] = lambda: None,
) -> None:
    """Send the scenario's requests to the cluster, and add the results to the folder `out`. Then add the log, unless
    `read_back` is false.

    `thaw` is called in between, and resumes frozen followers. `tap` gives the broker's journal, if it keeps one.
    `actor` does the scenario's actions. `slots` is how many tasks run at the same time; the default is Spark's
    parallelism. `machine_late_ms` returns how late the machine made the brokers since its last call; None if
    unknown."""
    runs = read_runs(out) if (out / RUN_FILE).exists() else []
    if scenario.name in {entry["scenario"]["name"] for entry in runs}:
        raise LoadScenarioError(f"The folder {out} already holds a run of the scenario {scenario.name!r}.")
    metadata = run_in_loop(find_leaders(bootstrap, scenario.topics))
    before = log_ends(needed(metadata, scenario)) if read_back or scenario.has_readers else {}
    starts = {place: end.offset for place, end in before.items()}
    plan = plan_connections(scenario, metadata.leaders, seed, starts, bootstrap)
    run_id = run_id or new_run_id()
    slots = min(slots or spark.sparkContext.defaultParallelism, scenario.connections)
    host = spark.conf.get("spark.driver.host", LOOPBACK) or LOOPBACK  # where executors reach the driver
    window = None
    if tap is not None:
        broker = next(iter(metadata.leaders.values()))
        path = out / JOURNAL_PARQUET / f"{run_id}.parquet"
        window = window_of(tap, broker, scenario.name, path, spark)
    with window.open() if window else nullcontext():
        started = time.time()
        machine_late_ms()
        with (
            ProgressListener(on_progress, host) as listener,
            actor.acting(listener.start_ns) if actor else nullcontext(),
            cancelled_if_left(spark),
            told("sending the load"),
        ):
            task = make_task(listener.address, grace_ms, run_id)
            results = to_frame(spark, plan, slots).mapInArrow(task, from_arrow_schema(RESULT_SCHEMA), barrier=True)
            results.write.mode("append").parquet(str(out / PARQUET))
        took_s = round(time.time() - started, 3)
        late_ms = [ms for ms in (machine_late_ms(), *listener.machine_late_ms.values()) if ms is not None]
        entry = {
            "scenario": asdict(scenario),
            "run_id": run_id,
            "log": False,
            "seed": seed,
            "bootstrap": [f"{host}:{port}" for host, port in bootstrap],
            "slots": slots,
            "planned": {group.name: group.records for group in scenario.groups},
            "planned_s": planned_s(spark, out, scenario.name),
            "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
            "took_s": took_s,
            "machine_late_ms": max(late_ms, default=None),
            "clocks": clock_facts(listener.clocks.values(), slots),
            "machine": describe_machine(spark),
            "command": command_line(sys.argv),
            "leaders": brokers_of(needed(metadata, scenario).leaders),
            "actions": [action._asdict() for action in actor.done] if actor else [],
        }
        write_runs(out, [*runs, entry])
        if read_back:  # an error here leaves a verdict on the responses alone
            shown = shown_watermarks(log_ends(leaders_of(bootstrap, scenario)))
            still = standing_still(scenario.frozen, leaders_of(bootstrap, scenario))
            thaw()
            keep_log(spark, scenario, bootstrap, out, run_id, before, shown, still)
            entry["log"] = True
            write_runs(out, [*runs, entry])
    if tap is not None and window is not None:
        recorded = window.found
        kept: dict[str, Any] = (
            {"from": tap.name, "rows": recorded.rows} if not recorded.why_not else {"why_not": recorded.why_not}
        )
        if recorded.ahead_us is not None and (start_ns := listener.start_ns(0)) is not None:
            kept["clock_us"] = [ahead_us + start_ns // 1000 for ahead_us in recorded.ahead_us]
        write_runs(out, [*runs, entry | {"journal": kept}])


def planned_s(spark: SparkSession, out: Path, name: str) -> float:
    """Return the time at which the last response was due, without pipelining."""
    rows = read(spark, out / PARQUET, RESULT_SCHEMA)
    query = "SELECT max(intended_us + if(must_wait, timeout_ms * 1000L, 0L)) AS due_us FROM {rows} WHERE run = {name}"
    (row,) = spark.sql(query, rows=rows, name=name).collect()
    return round((row["due_us"] or 0) / 1e6, 3)


def new_run_id() -> str:
    """Return an id that no other run has."""
    return uuid.uuid4().hex[:12]


def needed(metadata: ClusterMetadata, scenario: LoadScenario) -> ClusterMetadata:
    """Return the metadata of only the partitions that the scenario sends to."""
    places = {(topic, partition) for topic, count in scenario.topics.items() for partition in range(count)}
    leaders = {place: leader for place, leader in metadata.leaders.items() if place in places}
    return metadata._replace(leaders=leaders, problems=[])


def leaders_of(bootstrap: Bootstrap, scenario: LoadScenario) -> ClusterMetadata:
    """Return the present leaders of the scenario's partitions. Raises WireError."""
    return needed(run_in_loop(find_leaders(bootstrap, scenario.topics)), scenario)


def keep_log(
    spark: SparkSession,
    scenario: LoadScenario,
    bootstrap: Bootstrap,
    out: Path,
    run_id: str,
    before: Mapping[Place, LogEnd],
    shown: Mapping[Place, ShownWatermark],
    still: Collection[Place],
) -> None:
    """Add the records since `before` to `out`. `shown` are the high watermarks that a consumer was shown before frozen
    followers were resumed. `still` are the partitions of which no follower had moved by then."""
    ends = log_ends(leaders_of(bootstrap, scenario))
    parts = part_rows((scenario.name, run_id), before, ends, await_readable(ends), shown, scenario.transactional, still)
    read_back(spark, parts, out / LOG_PARQUET, out / PARTS_PARQUET)


def judge_folder(spark: SparkSession, out: Path, lateness_limit_ms: int | None = None) -> tuple[DataFrame, Verdict]:
    """Judge the rows of a folder, and keep them there. Write the verdict to `verdict.json`. A given limit overrides
    those of the scenarios."""
    runs = read_runs(out)
    claimed = recorded_of(runs)
    limits_ms = {run["scenario"]["name"]: _lateness_limit_ms(run, lateness_limit_ms) for run in runs}
    planned = planned_rows(out)
    rows = gathered(spark.read.schema(from_arrow_schema(RESULT_SCHEMA)).parquet(str(out / PARQUET)), planned)
    requests = rows.where("read IS NULL")
    log = LogTables(*(gathered(read(spark, out / name, LOG_FOLDERS[name], claimed), planned) for name in LOG_FOLDERS))
    was_read = [run["scenario"]["name"] for run in runs if run.get("log")]
    spread(spark, planned)
    keep_in(spark, out / CHECKPOINTS)
    known = [run["scenario"]["name"] for run in runs if has_journal(run)]
    acted_ms = acted_late_ms(runs)
    judged = judge(
        spark,
        requests,
        limits_ms,
        log if was_read else None,
        planned or None,
        known,
        was_read,
        acted_ms,
        {run["scenario"]["name"]: lags_ms(run["scenario"]) for run in runs},
    )
    journal, beside, slices = journal_of(spark, out, runs), None, slices_of(planned)
    by_fingerprint = planned <= FEW or not requests.where("client <> 'raw'").isEmpty()

    def keep(frame: DataFrame) -> DataFrame:
        """Write the rows to Parquet: a dozen queries follow, each for a few columns."""
        with told("judging"):
            frame.write.mode("overwrite").parquet(str(out / JUDGED_PARQUET))
        return gathered(spark.read.schema(frame.schema).parquet(str(out / JUDGED_PARQUET)), planned)

    if journal is not None:
        judged, beside = judge_by_journal(
            spark, judged, journal, log.parts, known, limits_ms, keep, slices, by_fingerprint
        )
    else:
        judged = keep(judged)
    if (read_by := judge_readers(spark, rows, runs, log, journal, slices)) is not None:
        judged = judged.unionByName(read_by, allowMissingColumns=True)
    amiss = logs_amiss(spark, log) if was_read else None
    verdict = summarise(spark, judged, runs, limits_ms, log, beside, amiss)
    shutil.rmtree(out / MISMATCH_PARQUET, ignore_errors=True)
    if not verdict.ok:
        all_mismatches = mismatches(spark, judged, log, beside, amiss).cache()
        all_mismatches.write.parquet(str(out / MISMATCH_PARQUET))
        verdict = replace(verdict, reasons=reasons_of(spark, all_mismatches))
    verdict.write(out / VERDICT_FILE)
    seal(out)
    return judged, verdict


def acted_late_ms(runs: list[dict[str, Any]]) -> dict[str, int]:
    """Return the greatest lateness of the driver with the actions of a run, by run. Runs without lateness are left
    out."""
    late_ms = {
        run["scenario"]["name"]: max((done["begun_ms"] - done["at_ms"] for done in run.get("actions") or ()), default=0)
        for run in runs
    }
    return {run: ms for run, ms in late_ms.items() if ms > 0}


def lags_ms(scenario: Mapping[str, Any]) -> dict[str, int]:
    """Return how late all followers have the records of a topic, by the scenario, in milliseconds. Topics with several
    rules, and scenarios in which rules may change, are left out."""
    rules = scenario.get("followers") or ()
    counts = Counter(rule["topic"] for rule in rules)
    return {
        rule["topic"]: rule["lag_ms"]
        for rule in rules
        if rule.keys() == {"topic", "behaviour", "lag_ms"}
        and rule["behaviour"] == "lagging"
        and counts[rule["topic"]] == 1
        and not scenario.get("actions")
    }


def journal_of(spark: SparkSession, out: Path, runs: list[dict[str, Any]]) -> DataFrame | None:
    """Return the brokers' events of all runs; None if no run has a journal."""
    if not any(map(has_journal, runs)):
        return None
    return gathered(read(spark, out / JOURNAL_PARQUET, JOURNAL_SCHEMA), planned_rows(out))


def _lateness_limit_ms(run: Mapping[str, Any], given_ms: int | None) -> int:
    of_scenario: int = run["scenario"].get("lateness_limit_ms", DEFAULT_LATENESS_LIMIT_MS)
    return of_scenario if given_ms is None else given_ms


def read(spark: SparkSession, folder: Path, schema: pa.Schema, claimed: Collection[str] | None = None) -> DataFrame:
    """Return the rows of a folder; none if it is not `claimed`."""
    struct = from_arrow_schema(schema)
    is_there = claimed is None or folder.name in claimed
    return spark.read.schema(struct).parquet(str(folder)) if is_there else spark.createDataFrame([], struct)
