"""Time and memory of the load's verdict and report as requests grow, judged one, two and three ways.

    python -m benchmarks verdict [--requests N ...] [--ways 1 2 3] [--spark-conf KEY=VALUE] [--quick] [--json]

Rows of honest loads are made by the million (folder.py). Each is judged as `fakebroker-load report` does, in a Spark of
its own, on all cores. What is timed is judging and the report, after Spark has started. The limit is 150 s for
10,000,000 requests by what the client saw; two and three ways are measured beside it, without a limit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine.processes import cpu_s, peak_mb
from benchmarks.reporting.report import Report, end, progress
from benchmarks.reporting.rows import LIMIT, compare

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
QUICK_SIZES = (10_000, 100_000)
LIMIT_S = 150.0  # for the largest of SIZES, one way
WAYS = {1: "what the client saw", 2: "and the log", 3: "and the journal"}
ONE = "--one"  # our own process: judge a folder, print what it took


def main(argv: list[str]) -> int:
    if argv[:1] == [ONE]:
        print(json.dumps(judge(Path(argv[1]), argv[2:])))
        return 0
    chosen = _options(argv)
    sizes = chosen.requests or (QUICK_SIZES if chosen.quick else SIZES)
    report = Report("verdict")
    with progress("verdict", len(sizes) * len(chosen.ways)) as step:
        for requests in sizes:
            for ways in chosen.ways:
                step(f"{requests:,} requests, {ways} ways")
                report.add(_row(requests, ways, measured(requests, ways, chosen.spark_conf)))
    return end(report, chosen.json)


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks verdict", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="10^4 and 10^5 requests")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    parser.add_argument("--requests", type=int, nargs="+", help="how many; default: 10^4 to 10^7")
    parser.add_argument("--ways", type=int, nargs="+", choices=WAYS, default=list(WAYS), help="default: all three")
    parser.add_argument("--spark-conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark")
    return parser.parse_args(argv)


def measured(requests: int, ways: int, settings: Sequence[str] = ()) -> dict[str, float]:
    """Return what judging and reporting that many requests takes. `settings` are Spark's, each KEY=VALUE."""
    from benchmarks.verdict.folder import make_folder  # needs the extra `load`

    with tempfile.TemporaryDirectory(prefix="fakebroker-verdict-") as name:
        make_folder(Path(name), requests, log=ways > 1, journal=ways > 2)
        # A process of its own: its memory is that of this verdict alone.
        command = [sys.executable, "-m", "benchmarks", "verdict", ONE, name, *settings]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return result


def _row(requests: int, ways: int, result: dict[str, float]) -> Any:
    note = (
        f"judging {result['judge_s']:.1f} s ({result['judge_cpu_s']:.1f} s of CPU), report {result['report_s']:.1f} s; "
        f"driver {result['driver_mb']:.0f} MB, "
        f"its JVM {result['jvm_mb']:.0f} MB"
    )
    theirs = [LIMIT_S * 1000] if ways == 1 and requests == SIZES[-1] else []
    work = f"{requests:,} requests: {', '.join(list(WAYS.values())[:ways])}"
    return compare(work, LIMIT, "ms", [(result["judge_s"] + result["report_s"]) * 1000], theirs, note=note)


def judge(folder: Path, settings: Sequence[str]) -> dict[str, float]:
    """Do the work of `fakebroker-load report` on a folder. Return how long that takes, and the most memory of both
    processes."""
    from fakebroker_load.job import journal_of, judge_folder
    from fakebroker_load.report import write_report
    from fakebroker_load.results.folder import REPORT_FILE, planned_rows, read_runs
    from fakebroker_load.scenario.model import DEFAULT_LATENESS_LIMIT_MS
    from fakebroker_load.session import start_spark

    spark = start_spark(settings=dict(setting.split("=", 1) for setting in settings), rows=planned_rows(folder))
    jvm = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    started, started_cpu_s = time.perf_counter(), cpu_s(jvm)
    judged, verdict = judge_folder(spark, folder, DEFAULT_LATENESS_LIMIT_MS)
    judged_at, judge_cpu_s = time.perf_counter(), cpu_s(jvm) - started_cpu_s
    if not verdict.ok:
        raise RuntimeError(f"honest rows were not confirmed: {verdict}")
    runs = read_runs(folder)
    write_report(spark, judged, verdict, runs, folder / REPORT_FILE, journal_of(spark, folder, runs))
    ended = time.perf_counter()
    return {
        "judge_s": judged_at - started,
        "judge_cpu_s": judge_cpu_s,
        "report_s": ended - judged_at,
        "driver_mb": peak_mb(os.getpid()),
        "jvm_mb": peak_mb(jvm),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
