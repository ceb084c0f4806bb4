"""One run of chosen tests in a copy of the checkout, until the first failure, bounded by CPU time and memory.

A mutant that loops without end is stopped by RLIMIT_CPU, so a busy machine kills none. One that waits without end uses
no CPU time: it is stopped when its process has stood still for STILL_S of wall time.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

MEMORY_BYTES = 4 << 30
BASE_CPU_S = 60  # the imports and the collection, on a slow machine
CPU_FACTOR = 4  # of what the tests took when they were recorded
STILL_S = 300.0
STILL_CPU_S = 1.0  # less than this in STILL_S is standing still
POLL_S = 0.1


class Outcome(NamedTuple):
    """`killer` is the first test that failed, or was running when the process was stopped; None if all passed. `how`
    is what stopped it. `ran` counts the tests that began."""

    killer: str | None
    how: str = ""
    ran: int = 0


class TrialError(Exception):
    """pytest itself could not run; its output is the message."""


def run_tests(copy: Path, nodes: Sequence[str], cpu_s: float, scratch: Path) -> Outcome:
    """Run tests in this order and stop at the first failure. `cpu_s` is what they took when they were recorded."""
    scratch.write_text("\n".join(nodes))
    files = list(dict.fromkeys(node.partition("::")[0] for node in nodes))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider"]
    command += ["-p", "mutants.chosen_tests", *files]
    with (scratch.with_suffix(".out")).open("w+") as output:
        process = subprocess.Popen(
            command,
            cwd=copy,
            env=_environment(copy, scratch, int(BASE_CPU_S + CPU_FACTOR * cpu_s)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            stands_still = _wait(process)
        finally:
            _end_session(process)
        output.seek(0)
        return _outcome(process.returncode, stands_still, scratch, files, output.read())


def _environment(copy: Path, scratch: Path, cpu_s: int) -> dict[str, str]:
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return variables | {
        "PYTHONPATH": os.pathsep.join([str(copy), str(copy / "tests"), str(copy / "load")]),
        "HYPOTHESIS_PROFILE": "random-mutants",
        "FAKEBROKER_SEEDS": "60",
        "FAKEBROKER_CHOSEN": str(scratch),
        "FAKEBROKER_CPU_S": str(cpu_s),
        "FAKEBROKER_MEMORY_BYTES": str(MEMORY_BYTES),
    }


def _wait(process: subprocess.Popen[bytes]) -> bool:
    """Wait for the end of the process. Return True if it stood still instead."""
    used, since = 0.0, time.monotonic()
    while True:
        try:
            process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            now, cpu_s = time.monotonic(), _cpu_s(process.pid)
            if cpu_s > used + STILL_CPU_S:
                used, since = cpu_s, now
            elif now > since + STILL_S:
                return True
        else:
            return False


def _cpu_s(pid: int) -> float:
    """Return the CPU time of a process. Where the system does not tell (not Linux), return the wall time."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0 if Path("/proc/self/stat").exists() else time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """End the process and all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _outcome(status: int, stands_still: bool, scratch: Path, files: Sequence[str], output: str) -> Outcome:
    told_file = scratch.with_name(f"{scratch.name}.told")
    lines = told_file.read_text().splitlines() if told_file.exists() else []
    told_file.unlink(missing_ok=True)
    begun = [line.removeprefix("run ") for line in lines if line.startswith("run ")]
    failed = [line.removeprefix("failed ") for line in lines if line.startswith("failed ")]
    running = begun[-1] if begun else files[0]
    if failed:
        how = "memory" if "MemoryError" in output else "test"
        return Outcome(failed[0], how, len(begun))
    if stands_still:
        return Outcome(running, "standing still", len(begun))
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return Outcome(running, "CPU time", len(begun))
    if status == 0:
        return Outcome(None, "", len(begun))
    if status < 0 or "MemoryError" in output:
        return Outcome(running, f"signal {-status}" if status < 0 else "memory", len(begun))
    if not begun and ("Error" in output and "no tests ran" not in output):
        return Outcome(files[0], "import", 0)
    raise TrialError(f"pytest ended with {status}:\n{output[-2_000:]}")
