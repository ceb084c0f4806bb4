"""The driver: the compiled one where there is a C compiler, else the same in Python.

`driver.c` says what the modes are. The Python driver takes the same arguments and prints the same line.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from typing import Any

from benchmarks.drivers.frames import frame_file
from benchmarks.machine.programs import HERE, Missing, driver_program

SETTLE_LIMIT_S = 20.0
Address = tuple[str, int]


class DriverError(Exception):
    """The driver gave up; the message is what it said."""


@dataclass(frozen=True)
class Target:
    """Connections to one broker, and the frames they send again and again."""

    address: Address
    frames: Sequence[bytes]
    connections: int = 1


@dataclass(frozen=True)
class Effort:
    """The length of a run: warm up, then measure until the time or the number of responses is reached."""

    warm_ms: int
    run_ms: int
    most_answers: int


@cache
def command() -> tuple[list[str], str]:
    """Return the command that starts the driver, and its name."""
    try:
        return [str(driver_program())], "C"
    except Missing as reason:
        return [
            sys.executable,
            str(HERE / "drivers" / "python_driver.py"),
        ], f"Python ({reason}): it may be the bottleneck"


def drive(targets: Sequence[Target], window: int, effort: Effort, error_at: int) -> dict[str, Any]:
    """Answers, seconds, CPU seconds of the driver, all answers (those of the warm-up and of the end too), the size of a
    frame; with a window of 1 also p50_ms and p99_ms. Raises DriverError."""
    with ExitStack() as stack:
        texts = []
        for target in targets:
            path = stack.enter_context(frame_file(target.frames))
            texts.append(f"{target.address[0]},{target.address[1]},{target.connections},{path}")
        numbers = [window, effort.warm_ms, effort.run_ms, effort.most_answers, error_at]
        done = subprocess.run(
            [*command()[0], "run", *map(str, numbers), *texts],
            capture_output=True,
            text=True,
            timeout=effort.warm_ms / 1000 + effort.run_ms / 1000 + 60,
            check=False,
        )
    if done.returncode:
        raise DriverError((done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1])
    return parsed(done.stdout)


def settle(targets: Sequence[Target], window: int, effort: Effort, error_at: int) -> dict[str, Any]:
    """Drive until one run has no error: a broker may know the leader of a partition before the leader itself does."""
    until = time.monotonic() + SETTLE_LIMIT_S
    while True:
        try:
            return drive(targets, window, effort, error_at)
        except DriverError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def parsed(output: str) -> dict[str, Any]:
    """The last line of what the driver printed."""
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return result
