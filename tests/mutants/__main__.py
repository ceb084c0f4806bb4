"""Put slips into a copy of the project, one after the other, and run the tests that concern each.

    python -m tests.mutants [--jobs N] [--simulation-only] [NUMBER ...]
    python -m tests.mutants --random N [--seed S] [--rooms core,apis] [--jobs N] [--budget S] [--alone] [--json FILE]

The first form tries the chosen slips of mutants.toml. A mutant is killed if a test fails, if the tests take TIMEOUT_S,
or if they take MEMORY_BYTES. Survivors are listed with the verdict of mutants.toml. --simulation-only runs the seeds
alone.

The second form draws N random slips by seed. Each meets the tests that execute its line, the cheapest first, by the
table that `python -m tests.costs` makes. Survivors are listed with the judgements of survivors.toml; those judged
equivalent do not count.

--budget bounds the recorded CPU seconds of the tests that a mutant meets. --alone tells which mutants a single test
file kills. Both forms exit with 1 if fewer than 90 % are killed.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from costs.table import TABLE

from mutants import random_run
from mutants.draw import ROOMS

from .catalogue import MUTANTS, SIMULATION, TESTS, Mutant

ROOT = Path(__file__).resolve().parent.parent.parent
COPIED = ("fakebroker", "timingwheel", "load", "benchmarks", "conformance", "tests", "pyproject.toml")
TIMEOUT_S = 600
MEMORY_BYTES = 4 << 30
SEEDS = 60  # of the simulation, 200 steps each
GOAL = 0.9


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tests.mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=max((os.cpu_count() or 1) // 2, 1))
    parser.add_argument("--simulation-only", action="store_true")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="how many random mutants to draw")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", default=",".join(ROOMS), help="rooms to draw from, separated by commas")
    parser.add_argument("--budget", type=float, default=120.0, metavar="S", help="recorded CPU seconds for each mutant")
    parser.add_argument("--alone", action="store_true", help="look for a second test file that kills")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument("numbers", type=int, nargs="*")
    options = parser.parse_args(argv)
    if options.random:
        return try_random(parser, options)
    chosen = [(n, m) for n, m in enumerate(MUTANTS, 1) if not options.numbers or n in options.numbers]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for job in range(options.jobs):
            copies.put(copy_project(Path(folder) / str(job)))

        def judge(numbered: tuple[int, Mutant]) -> bool:
            number, mutant = numbered
            copy = copies.get()
            try:
                started = time.monotonic()
                suites = [SIMULATION] if options.simulation_only else [TESTS[mutant.path], SIMULATION]
                killer = next((test for suite in suites if (test := killed_by(copy, mutant, suite))), None)
            finally:
                copies.put(copy)
            verdict = f"killed by {killer}" if killer else f"LIVES   {mutant.verdict or '(not judged)'}"
            seconds = time.monotonic() - started
            print(f"{number:3} {mutant.path}: {mutant.why}: {verdict} ({seconds:.0f} s)", flush=True)
            return killer is not None

        with ThreadPoolExecutor(options.jobs) as pool:
            killed = sum(pool.map(judge, chosen))
    print(f"{killed} of {len(chosen)} mutants killed: {killed / len(chosen):.0%}")
    return int(killed < GOAL * len(chosen))


def try_random(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    rooms = options.rooms.split(",")
    if unknown := set(rooms) - ROOMS.keys():
        parser.error(f"no such room: {', '.join(sorted(unknown))}; the rooms are {', '.join(ROOMS)}")
    if not TABLE.exists():
        parser.error(f"{TABLE} does not exist; make it with: python -m tests.costs")
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell has them ignored
        signal.signal(number, signal.default_int_handler)
    plan = random_run.Plan(options.random, options.seed, rooms, options.jobs, options.budget, options.alone)
    return random_run.run(plan, options.json)


def copy_project(folder: Path) -> Path:
    folder.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)
    return folder


def killed_by(copy: Path, mutant: Mutant, suite: Sequence[str]) -> str | None:
    """The first test that fails, None if all pass."""
    path = copy / mutant.path
    original = path.read_text()
    if original.count(mutant.old) != 1:
        raise ValueError(f"{mutant.path} has {mutant.old!r} {original.count(mutant.old)} times, not once")
    path.write_text(original.replace(mutant.old, mutant.new))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *suite]
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_PROFILE": "mutants",
        "FAKEBROKER_SEEDS": str(SEEDS),
    }
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            preexec_fn=_bound_memory,
        )
    except subprocess.TimeoutExpired:
        return "the clock"
    finally:
        path.write_text(original)
    if done.returncode == 0:
        return None
    if "MemoryError" in done.stdout + done.stderr:
        return "its memory"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.returncode != 1 or not failed:
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout[-2_000:]}{done.stderr[-2_000:]}")
    return failed[0].split()[1]


def _bound_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
