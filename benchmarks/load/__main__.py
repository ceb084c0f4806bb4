"""acks=all against frozen followers: how punctual the load is at a rate, and what its verdict costs.

    python -m benchmarks load [--requests N ...] [--rate R ...] [--quick] [--json]

A cluster of three brokers in a process of its own writes its journal to a file. The requests come at a constant rate,
whatever the responses are. Each has to get REQUEST_TIMED_OUT when its own timeout is over. Then the followers resume,
the log is read back, and everything is judged three ways.

The 99th percentiles of send delay and lateness are limited to 5 ms each. From 300,000 requests on, reading back,
journal and verdict together may take a fifth of the load's time. A task's memory must not grow with the number of
requests. Each size runs in a process of its own, on all cores, on loopback.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.machine.processes import cpu_s
from benchmarks.reporting.report import Report, end, progress
from benchmarks.reporting.rows import LIMIT, Row, compare

SIZES = (10_000, 100_000, 1_000_000)
QUICK_SIZES = (10_000, 30_000)
RATE = 1_250  # requests a second
OF_A_CONNECTION_S = 0.6  # from one request of a connection to its next: no timeout is longer
TIMEOUT_MS = (50, 400)
PARTITIONS = 60
LIMIT_MS = 5.0  # send delay, lateness
SHARE, SHARE_FROM = 0.2, 300_000  # of the load's time; from so many requests on
TOPIC = "orders"
LOOK_S = 0.5
ONE = "--one"  # our own process: run one load, print what was measured


def main(argv: list[str]) -> int:
    if argv[:1] == [ONE]:
        print(json.dumps(run_one(int(argv[1]), float(argv[2]))))
        return 0
    chosen = _options(argv)
    sizes = chosen.requests or (QUICK_SIZES if chosen.quick else SIZES)
    report = Report("load")
    with progress("load", len(sizes) * len(chosen.rate)) as step:
        for requests in sizes:
            for rate in chosen.rate:
                step(f"{requests:,} requests, {rate:,.0f} a second")
                for row in rows(f"{requests:,} requests at {rate:,.0f}/s", measured(requests, rate)):
                    report.add(row)
    return end(report, chosen.json)


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks load", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="10,000 and 30,000 requests")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    parser.add_argument("--requests", type=int, nargs="+", help="how many; default: 10^4 to 10^6")
    parser.add_argument("--rate", type=float, nargs="+", default=[RATE], help=f"requests a second; default: {RATE:,}")
    return parser.parse_args(argv)


def measured(requests: int, rate: float) -> dict[str, Any]:
    """Return the result of `run_one`, from a process of its own."""
    command = [sys.executable, "-m", "benchmarks", "load", ONE, str(requests), str(rate)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def rows(work: str, result: dict[str, Any]) -> Iterator[Row]:
    """Return the rows for a result of `run_one`."""
    for name, text in (("send_delay_ms", "send delay p99"), ("lateness_ms", "lateness p99")):
        p50, p99, most = result[name]
        yield compare(f"{work}: {text}", LIMIT, "ms", [p99], [LIMIT_MS], note=f"p50 {p50:.1f}, max {most:.1f} ms")
    counts = (
        f"{result['confirmed']:,} of {result['requests']:,} confirmed {result['ways']} ways, {result['early']} early"
    )
    parts = f"{result['after_s']:.1f} s for log and journal, {result['judge_s']:.1f} s to judge"
    limit = [result["load_s"] * SHARE * 1000] if result["requests"] >= SHARE_FROM else []
    behind_ms = (result["after_s"] + result["judge_s"]) * 1000
    note = f"load {result['load_s']:.0f} s; {parts}; {counts}"
    yield compare(f"{work}: verdict", LIMIT, "ms", [behind_ms], limit, note=note)
    others = (
        f"driver {result['driver_mb']:.0f} MB, its JVM {result['jvm_mb']:.0f} MB, broker {result['broker_mb']:.0f} MB"
    )
    yield compare(f"{work}: memory", LIMIT, "MB", [result["task_mb"]], [], note=f"a task; {others}")


def run_one(requests: int, rate: float) -> dict[str, Any]:
    """One load with its verdict. Raises RuntimeError if that is red: then there is nothing to measure."""
    from fakebroker_load.demo_cluster import cluster_process
    from fakebroker_load.job import judge_folder, run_scenario
    from fakebroker_load.journal.taps import FileTap
    from fakebroker_load.limits import allow_connections
    from fakebroker_load.results.folder import clear, read_runs
    from fakebroker_load.session import spark_session

    scenario = scenario_of(requests, rate)
    allow_connections(scenario.connections)
    with tempfile.TemporaryDirectory(prefix="fakebroker-load-") as name, _Memory() as memory:
        out, journal = Path(name) / "out", Path(name) / "journal.jsonl"
        clear(out)
        with (
            cluster_process({TOPIC: PARTITIONS}, journal) as cluster,
            spark_session(rows=scenario.requests) as spark,
        ):
            cluster.freeze(TOPIC)
            started = time.perf_counter()
            thaw = partial(cluster.resume, TOPIC)
            run_scenario(spark, scenario, cluster.bootstrap, out, seed=1, thaw=thaw, tap=FileTap(journal))
            jvm = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
            ran_at, ran_cpu_s = time.perf_counter(), cpu_s(jvm)
            _, verdict = judge_folder(spark, out)
            ended, judge_cpu_s = time.perf_counter(), cpu_s(jvm) - ran_cpu_s
            (run,) = read_runs(out)
    if not verdict.ok:
        raise RuntimeError(f"it was not confirmed: {verdict}")
    (group,) = verdict.groups
    lateness = (group.lateness_p50_us, group.lateness_p99_us, group.lateness_max_us)
    return {
        "requests": verdict.requests,
        "confirmed": verdict.confirmed,
        "early": group.early,
        "ways": verdict.ways[0].count,
        "send_delay_ms": _in_ms(group.send_delay_us),
        "lateness_ms": _in_ms(lateness),
        "load_s": run["took_s"],
        "after_s": ran_at - started - run["took_s"],
        "judge_s": ended - ran_at,
        "judge_cpu_s": judge_cpu_s,
        **memory.found,
    }


def _in_ms(times_us: tuple[int | None, ...]) -> list[float]:
    return [(one or 0) / 1000 for one in times_us]


def scenario_of(requests: int, rate: float) -> Any:
    """Return a scenario of at least so many requests, as many on each connection."""
    from fakebroker_load.arrivals import Arrivals
    from fakebroker_load.scenario.model import LoadScenario, RequestGroup

    connections = max(1, min(requests, round(rate * OF_A_CONNECTION_S)))
    group = RequestGroup(
        name="acks-all",
        topic=TOPIC,
        acks=-1,
        expect="REQUEST_TIMED_OUT",
        waits=True,
        partitions=PARTITIONS,
        connections=connections,
        requests_per_connection=-(-requests // connections),
        timeout_ms=TIMEOUT_MS,
        arrivals=Arrivals("constant", rate=rate),
    )
    return LoadScenario(name="acks-all-timeout", about="Followers stand still.", groups=(group,))


class _Memory:
    """The most memory that each kind of process below our own has had: the largest one of the kind."""

    KINDS = (
        ("task_mb", "pyspark.daemon"),
        ("broker_mb", "multiprocessing.spawn"),
        ("jvm_mb", "org.apache.spark.deploy.SparkSubmit"),
        ("driver_mb", ONE),
    )

    def __init__(self) -> None:
        self.found = {name: 0.0 for name, _ in self.KINDS}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)

    def __enter__(self) -> _Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look_on(self) -> None:
        while not self._over.wait(LOOK_S):
            ours = {os.getpid()}
            for pid in sorted(int(path.name) for path in Path("/proc").glob("[0-9]*")):  # parents come first
                with suppress(OSError):
                    self._look(pid, ours)

    def _look(self, pid: int, ours: set[int]) -> None:
        status = Path(f"/proc/{pid}/status").read_text()
        values = dict(re.findall(r"(\w+):\s+(\d+)", status))
        if pid not in ours and int(values["PPid"]) not in ours:
            return
        ours.add(pid)
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        for name, text in self.KINDS:
            if text in command:
                self.found[name] = max(self.found[name], int(values.get("VmHWM", 0)) / 1024)
                return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
