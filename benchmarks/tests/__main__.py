"""1,000 tests, each with a cluster of its own, one produce and one fetch, under pytest -n 2.

    python -m benchmarks tests [--quick] [--json]

All clusters have three brokers, and the traffic is the same bytes over a socket. Ours is the plugin's `kafka_cluster`
in two processes of pytest. The figure is the time from the first set-up to the last teardown, divided by the number of
tests. It does not include pytest's own start, some seconds.

kfake is franz-go's in one process of Go, from NewCluster to Close, by two goroutines, as parallel tests there would be.
`pytest alone` is the same tests without a cluster: our tests would take as long if clusters cost nothing. A container
is what Kafka's own KIP-974 says of the start of the broker in it: 1,150 ms on a JVM, 110 ms as native image. Pulling
it, its runtime and waiting for it come on top. Then clusters live one after the other, without pytest.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.drivers.frames import record_batch
from benchmarks.machine.programs import HERE, Missing, kfake_program
from benchmarks.peers.brokers import KFAKE, environment
from benchmarks.reporting.report import Report, end, missing, options, progress
from benchmarks.reporting.rows import compare
from benchmarks.tests.life import live
from conformance import frames

_WORKERS = 2
_LIMIT_S = 600.0
PYTEST = "pytest alone"
CONTAINERS = {"a container, JVM (KIP-974)": 1_150.0, "a container, native (KIP-974)": 110.0}
PRODUCE = frames.produce("t", record_batch(100), version=7)
FETCH = frames.fetch("t", version=11)

_TESTS = """
import pytest
from benchmarks.tests.life import converse

@pytest.mark.parametrize("number", range({count}))
@pytest.mark.kafka(topics={{"t": 1}})
def test(kafka_cluster, number):
    endpoint = kafka_cluster.endpoints[0]
    converse((endpoint.host, endpoint.port), {produce!r}, {fetch!r})
"""
_NO_CLUSTER = """
import pytest

@pytest.mark.parametrize("number", range({count}))
def test(number):
    pass
"""


# In the process that hears of all tests: when the first one began, and when the last one ended.
_TIMES = """
starts, stops = [], []

def pytest_runtest_logreport(report):
    starts.append(report.start)
    stops.append(report.stop)

def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"took {(max(stops) - min(starts)) * 1000} ms")
"""
_TOOK = re.compile(r"^took ([\d.]+) ms$", re.MULTILINE)


def under_pytest(source: str, count: int) -> float:
    """Milliseconds of all tests, for each of them."""
    with TemporaryDirectory(prefix="fakebroker-tests-") as folder:
        file = Path(folder) / "test_many.py"
        file.with_name("conftest.py").write_text(_TIMES)
        file.write_text(source.format(count=count, produce=PRODUCE, fetch=FETCH))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(_WORKERS), file.name]
        variables = environment() | {"PYTHONPATH": _path()}
        done = subprocess.run(
            command, cwd=folder, env=variables, capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
        took = _TOOK.search(done.stdout)
        if took is None or done.returncode or f"{count} passed" not in done.stdout:
            raise RuntimeError(f"pytest ended with status {done.returncode}: {done.stdout[-400:]}{done.stderr[-400:]}")
        return float(took[1]) / count


def _path() -> str:
    """Return a path with this package and everything that this process imports from."""
    return ":".join([str(HERE.parent), *filter(None, sys.path)])


def kfake_lives(count: int, workers: int) -> tuple[float, list[float]]:
    """Milliseconds of the whole for each, and of each. Raises Missing."""
    command = [str(kfake_program()), "-lives", str(count), "-workers", str(workers)]
    command += ["-produce", PRODUCE.hex(), "-fetch", FETCH.hex()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=True)
    timings = json.loads(done.stdout)
    return timings["whole_ms"] / count, timings["each_ms"]


def our_lives(count: int) -> list[float]:
    """Milliseconds of each, one after the other."""
    taken = []
    for _ in range(count):
        started = time.perf_counter()
        live(PRODUCE, FETCH)
        taken.append((time.perf_counter() - started) * 1000)
    return taken


def main(argv: list[str]) -> int:
    chosen = options("tests", __doc__, argv, "fewer tests")
    count, rounds = (100, 1) if chosen.quick else (1_000, 3)
    report = Report("tests")
    whole: dict[str, list[float]] = {"ours": [], PYTEST: [], KFAKE: []} | {
        name: [taken] for name, taken in CONTAINERS.items()
    }
    single: Mapping[str, list[float]] = {"ours": [], KFAKE: []}
    reasons: dict[str, str] = {}
    with progress("tests", 4 * rounds) as step:
        for _ in range(rounds):
            step("ours")
            whole["ours"].append(under_pytest(_TESTS, count))
            step(PYTEST)
            whole[PYTEST].append(under_pytest(_NO_CLUSTER, count))
            step(KFAKE)
            try:
                whole[KFAKE].append(kfake_lives(count, _WORKERS)[0])
                single[KFAKE].append(median(kfake_lives(count, 1)[1]))
            except Missing as reason:
                reasons[KFAKE] = str(reason)
            step("one after the other")
            single["ours"].append(median(our_lives(count)))
    work = f"a test of {count:,} under pytest -n {_WORKERS}, with a cluster"
    for peer in (PYTEST, KFAKE, *CONTAINERS):
        report.add(compare(work, peer, "ms", whole["ours"], whole[peer], note=missing(reasons, peer)))
    life = "a cluster's life in a process: start, produce, fetch, stop"
    report.add(compare(life, KFAKE, "ms", single["ours"], single[KFAKE], note=missing(reasons, KFAKE)))
    return end(report, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
