"""Runs steps, one after the other, and says how long each took."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from .parts import Step

ROOT = Path(__file__).resolve().parents[2]


class Done(NamedTuple):
    """A step that has run."""

    step: Step
    status: int
    seconds: float

    def __str__(self) -> str:
        verdict = "passed" if self.status == 0 else f"FAILED with status {self.status}"
        return f"{self.seconds:6.0f} s  {verdict}  {self.step}"


def start(step: Step) -> subprocess.Popen[bytes]:
    say(f"--- {step}")
    return subprocess.Popen(step.command, cwd=ROOT, env={**os.environ, **step.environment})


def run(step: Step) -> Done:
    began = time.monotonic()
    status = start(step).wait()
    return Done(step, status, time.monotonic() - began)


def run_all(steps: Iterable[Step], goes_on: bool) -> list[Done]:
    """Run the steps. After one that fails the others run only if it `goes_on`."""
    done: list[Done] = []
    for step in steps:
        done.append(run(step))
        say(str(done[-1]))
        if done[-1].status and not goes_on:
            break
    return done


def say(line: str) -> None:
    print(line, file=sys.stdout, flush=True)
