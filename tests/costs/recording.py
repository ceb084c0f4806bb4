"""A pytest plugin that records, in each process that runs tests, what each test takes and which lines it executes.

Use      `pytest -p costs.recording` with FAKEBROKER_COSTS=FOLDER; `python -m tests.costs` does that.
Files    Per process: FOLDER/tests.PID.jsonl has one object per test, FOLDER/lines.PID is coverage.py's data, with the
         test's node id as its context. The controller of xdist runs no tests and writes nothing.
Units    Seconds. CPU time is that of the process and of the children it has waited for. Tracing is included: it about
         doubles the time of Python code.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
MEASURED = ("fakebroker", "timingwheel")
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


def cpu_s() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    own, children = (resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


class Recorder:
    """Everything recorded by one process."""

    def __init__(self, folder: Path) -> None:
        self._tests = (folder / f"tests.{os.getpid()}.jsonl").open("w", buffering=1)
        self._outcome = PASSED
        self._coverage = coverage.Coverage(
            data_file=str(folder / f"lines.{os.getpid()}"),
            config_file=False,
            include=[str(ROOT / package / "*") for package in MEASURED],
        )
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._outcome = PASSED
        self._coverage.switch_context(item.nodeid)
        wall, cpu = time.monotonic(), cpu_s()
        try:
            return (yield)
        finally:
            row = {
                "test": item.nodeid,
                "wall_s": round(time.monotonic() - wall, 6),
                "cpu_s": round(cpu_s() - cpu, 6),
                "outcome": self._outcome,
            }
            self._coverage.switch_context("")
            print(json.dumps(row), file=self._tests)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._outcome = FAILED
        elif report.skipped and self._outcome == PASSED:  # an expected failure too
            self._outcome = SKIPPED

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        self._tests.close()


def pytest_configure(config: pytest.Config) -> None:
    folder = os.environ.get("FAKEBROKER_COSTS")
    is_controller = not hasattr(config, "workerinput") and config.getoption("numprocesses", None)
    if folder and not is_controller:
        config.pluginmanager.register(Recorder(Path(folder)), "costs-recorder")
