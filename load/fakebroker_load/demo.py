"""The command `fakebroker demo`, the main job: acks=all against frozen followers, with proof of each response.

Theory   A cluster of three brokers runs in a process of its own, so that it and the load do not share an interpreter.
         First all followers replicate, and acks=all must get NONE.
         Then the followers of one topic are frozen. Thousands of acks=all requests to the same partitions must get
         REQUEST_TIMED_OUT, each when its own timeout is over. Requests with acks=0 or acks=1, or to a healthy topic,
         must not wait.
         In the end the followers are resumed, and the log is read back. Every record must be at the offset in its
         response. The brokers' journal must agree with the client about each request, and tell of no others.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from fakebroker_load.console import make_console, print_verdict, progress_bar
from fakebroker_load.demo_cluster import BROKERS, ClusterDidNotStart, cluster_process
from fakebroker_load.errors import INTERRUPTED_STATUS, USER_ERROR_STATUS, USER_ERRORS
from fakebroker_load.job import journal_of, judge_folder, run_scenario
from fakebroker_load.journal.taps import FileTap
from fakebroker_load.limits import allow_connections
from fakebroker_load.report import write_report
from fakebroker_load.results.folder import REPORT_FILE, ResultsError, clear, read_runs
from fakebroker_load.scenario.model import LoadScenario
from fakebroker_load.scenario.reading import load_scenario
from fakebroker_load.session import spark_session
from fakebroker_load.spark.watching import watched

FROZEN_TOPIC = "orders"


def run_demo(
    out: Path = Path("fakebroker-demo"),
    *,
    seed: int = 1,
    lateness_limit_ms: int | None = None,
    scenarios: tuple[str, str] = ("healthy", "frozen"),
) -> int:
    """Run the demo and write `report.html` into the folder `out`.

    The `scenarios` run in this order, with the followers of the topic `orders` frozen in between. Return 0 if every
    request is confirmed, 1 if not, 2 if the demo cannot run here, 130 after Ctrl-C. Return 4 if load or machine were
    too late to measure the broker.
    """
    console = make_console()
    console.print("Starting a cluster and Spark ...")
    try:
        return _run(console, out, seed, lateness_limit_ms, load_scenario(scenarios[0]), load_scenario(scenarios[1]))
    except (*USER_ERRORS, ClusterDidNotStart) as error:
        print(f"fakebroker demo: {error}", file=sys.stderr)
        return USER_ERROR_STATUS
    except KeyboardInterrupt:
        console.print("Interrupted.")
        return INTERRUPTED_STATUS


def _run(
    console: Console, out: Path, seed: int, lateness_limit_ms: int | None, before: LoadScenario, after: LoadScenario
) -> int:
    allow_connections(max(before.connections, after.connections))
    try:
        clear(out)
    except OSError as error:
        raise ResultsError(f"{out} cannot be written: {error.strerror}.") from error
    with (
        TemporaryDirectory(prefix="fakebroker-journal-") as folder,
        cluster_process({**before.topics, **after.topics}, Path(folder) / "journal.jsonl") as cluster,
        spark_session() as spark,
    ):
        bootstrap, late_ms = cluster.bootstrap, cluster.machine_late_ms
        console.print(f"{BROKERS} brokers in a process of their own: {', '.join(f'{h}:{p}' for h, p in bootstrap)}")
        tap = partial(FileTap, Path(folder) / "journal.jsonl", "the broker's journal")
        with progress_bar(console, f"{before.name}: all followers replicate", before.records) as on_progress:
            run_scenario(
                spark, before, bootstrap, out, seed=seed, on_progress=on_progress, tap=tap(), machine_late_ms=late_ms
            )
        cluster.freeze(FROZEN_TOPIC)
        with progress_bar(console, f"{after.name}: those of {FROZEN_TOPIC} do not", after.records) as on_progress:
            run_scenario(
                spark,
                after,
                bootstrap,
                out,
                seed=seed,
                on_progress=on_progress,
                thaw=partial(cluster.resume, FROZEN_TOPIC),
                tap=tap(),
                machine_late_ms=late_ms,
            )
        with watched(console, spark, "judging"):
            judged, verdict = judge_folder(spark, out, lateness_limit_ms)
        runs = read_runs(out)
        with watched(console, spark, "drawing the report"):
            write_report(spark, judged, verdict, runs, out / REPORT_FILE, journal_of(spark, out, runs))
        print_verdict(console, verdict)
        console.print(f"Report: {out / REPORT_FILE}")
        return verdict.finding.status
