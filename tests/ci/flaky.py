"""Repeats `.ci/run`, or one test, beside busy loops, to find what fails by luck. A seed draws the order of the tests
and their stalls (tests/support/shaking.py)."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence

from .parts import Step
from .running import Done, run, say

BUSY_LOOPS = 4
# It ends when its stdin is closed, so no loop is left if this process is killed.
LOOP = "import select, sys\nwhile not select.select([sys.stdin], [], [], 0)[0]: sum(range(100_000))"


@contextlib.contextmanager
def busy_loops(count: int = BUSY_LOOPS) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Keep so many processes busy within the block."""
    processes = [subprocess.Popen([sys.executable, "-c", LOOP], stdin=subprocess.PIPE) for _ in range(count)]
    try:
        yield processes
    finally:
        for process in processes:
            process.communicate()


def drawn_by(seed: int) -> dict[str, str]:
    return {"FAKEBROKER_ORDER": str(seed), "FAKEBROKER_SHAKE": str(seed)}


def repeat_ci(runs: int, seed: int) -> int:
    """Run `.ci/run` with order and stalls drawn anew each time. Return 1 if a run failed."""
    done: list[Done] = []
    for number in range(runs):
        with busy_loops():
            done.append(run(Step(("bash", ".ci/run"), drawn_by(seed + number))))
        say(f"run {number + 1} of {runs}, seed {seed + number}: {done[-1]}")
    failed = sum(step.status != 0 for step in done)
    say(f"{failed} of {runs} runs failed")
    return int(failed > 0)


def repeat_test(tests: Sequence[str], runs: int, seed: int) -> int:
    """Run the tests so many times each, in one session. Return pytest's exit status."""
    pytest = (sys.executable, "-m", "pytest", "-n", "auto", "--dist", "load", "-q", "--count", str(runs), *tests)
    with busy_loops():
        done = run(Step(pytest, {**drawn_by(seed), "FAKEBROKER_TESTS": "all"}))
    say(str(done))
    return done.status
