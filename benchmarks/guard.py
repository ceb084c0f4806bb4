"""Instructions of the hot path, against the recorded ones: more than 10 % worse fails.

    python -m benchmarks guard            compare; exit status 1 if something is more than 10 % worse
    python -m benchmarks guard --record   write the counts of this Python and build into guard.json
    python -m benchmarks guard --json     one line of JSON

Seconds differ from run to run, the instructions that valgrind's callgrind counts hardly do (`_guard_work.py` has the
work). They depend on the Python: so there is a record by minor version, compiled or plain, and with it the count of a
piece of plain Python. Where that differs by more than 2 % this is another build of Python. Where valgrind is missing,
or no record fits, it says so and passes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks._build import HERE, Missing
from benchmarks._guard_work import MARK, WORKS
from benchmarks._report import build

RECORDS = HERE / "guard.json"
WORSE = 1.10
SAME_PYTHON = 1.02
LIMIT_S = 600
CALIBRATION = next(iter(WORKS))

Counts = dict[str, int]  # instructions per operation, by work


def key() -> str:
    """Which record is meant: "3.11 plain"."""
    return f"{sys.version_info[0]}.{sys.version_info[1]} {build()}"


def count(package: Path | None = None) -> Counts:
    """Run the work under callgrind, with the package that stands in that folder if one is given. Raises Missing where
    that is not possible."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise Missing("no `valgrind` on this machine")
    path = os.environ.get("PYTHONPATH") if package is None else str(package)
    with tempfile.TemporaryDirectory(prefix="benchmarks-guard-") as folder:
        command = [valgrind, "--tool=callgrind", f"--dump-before={MARK}", f"--callgrind-out-file={folder}/out"]
        # No more environment than needed: it lies on the stack, and where things lie changes the order of sets.
        environment = {
            "PATH": os.environ.get("PATH", ""),
            # What stands in PYTHONPATH first: it may be a compiled copy, and this folder holds the source.
            "PYTHONPATH": os.pathsep.join([*filter(None, [path]), str(HERE.parent)]),
            "PYTHONSAFEPATH": "1",
            "PYTHONHASHSEED": "0",
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            [*command, sys.executable, "-m", "benchmarks._guard_work"],
            cwd=HERE.parent,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the work failed under valgrind:\n{done.stderr[-2000:]}")
        dumps = [path.read_text() for path in Path(folder).iterdir()]
    return per_operation(dumps)


def per_operation(dumps: list[str]) -> Counts:
    """From the files of callgrind: parts 2, 4, 6... are what lies between two marks. Raises Missing if they are not."""
    totals = {}
    for dump in dumps:
        part, total = re.search(r"^part: (\d+)$", dump, re.MULTILINE), re.search(r"^totals: (\d+)$", dump, re.MULTILINE)
        if part is not None and total is not None:
            totals[int(part[1])] = int(total[1])
    if len(totals) != 2 * len(WORKS) + 1:
        raise Missing(f"callgrind found {len(totals) - 1} of {2 * len(WORKS)} marks: its view of the C library differs")
    return {
        name: round(totals[2 * number] / operations)
        for number, (name, (_, operations)) in enumerate(WORKS.items(), start=1)
    }


def verdict(recorded: Mapping[str, int] | None, counts: Mapping[str, int]) -> tuple[list[str], str]:
    """What is too much worse, with the numbers, and why nothing was compared ("" if something was)."""
    if recorded is None:
        return [], f"no record for Python {key()}: `python -m benchmarks guard --record` makes one"
    expected, found = recorded.get(CALIBRATION, 0), counts[CALIBRATION]
    if not expected / SAME_PYTHON <= found <= expected * SAME_PYTHON:
        return (
            [],
            f"the record is of another build of Python: {found:,} instructions for plain Python, not {expected:,}",
        )
    worse = [
        f"{name}: {counts[name]:,} instructions instead of {limit:,}, {counts[name] / limit - 1:+.1%}"
        for name, limit in recorded.items()
        if name in counts and counts[name] > limit * WORSE
    ]
    return worse, ""


def table(recorded: Mapping[str, int], counts: Counts) -> Table:
    made = Table(title=f"instructions per operation, Python {key()}")
    made.add_column("work")
    for column in ("now", "recorded", "change"):
        made.add_column(column, justify="right")
    for name, now in counts.items():
        before = recorded.get(name)
        change = f"{now / before - 1:+.1%}" if before else "new"
        made.add_row(name, f"{now:,}", f"{before:,}" if before else "-", change)
    return made


def read() -> dict[str, Counts]:
    records: dict[str, Counts] = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    return records


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks guard", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write the counts of this Python and build")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    parser.add_argument("--quick", action="store_true", help="the same: it is quick")
    options = parser.parse_args(argv)
    records = read()
    recorded = records.get(key())
    console = Console()
    try:
        if recorded is None and not options.record:
            worse, reason = verdict(None, {})
            counts: Counts = {}
        else:
            counts = count()
            worse, reason = ([], "") if options.record else verdict(recorded, counts)
    except Missing as missing:
        counts, worse, reason = {}, [], str(missing)
    if options.record and counts:
        RECORDS.write_text(json.dumps(records | {key(): counts}, indent=2, sort_keys=True) + "\n")
    if options.json:
        facts = {"name": "guard", "python": key(), "counts": counts, "recorded": recorded}
        print(json.dumps(facts | {"worse": worse, "not_compared": reason}))
    else:
        if counts:
            console.print(table(recorded or {}, counts))
        if reason:
            console.print(f"guard: not compared: {reason}", markup=False, highlight=False)
    for line in worse:
        print(f"guard: {line}", file=sys.stderr)
    return 1 if worse or (options.record and not counts) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
