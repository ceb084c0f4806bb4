"""Instructions of the hot path, against the recorded ones: more than 10 % worse fails, and so does a thousand faults
that fit other requests if they cost more than 5 %.

    python -m benchmarks guard            compare; exit status 1 if something is more than 10 % worse
    python -m benchmarks guard --record   write the counts of this Python and build into guard.json
    python -m benchmarks guard --json     one line of JSON

Seconds differ from run to run, the instructions that valgrind's callgrind counts hardly do (instructions/work.py is
what is counted). They depend on the Python: so there is a record by minor version, compiled or interpreted, and with
it the count of a piece of plain Python. Where that differs by more than 2 % this is another build of Python. Where
valgrind is missing, or no record fits, it says so and passes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from benchmarks.instructions.callgrind import CALIBRATION, Counts, count
from benchmarks.instructions.work import BESIDE
from benchmarks.machine.facts import build
from benchmarks.machine.programs import HERE, Missing

RECORDS = HERE / "guard.json"
WORSE = 1.10
SAME_PYTHON = 1.02


def key() -> str:
    """Return the key of the record to compare with: "3.11 interpreted"."""
    return f"{sys.version_info[0]}.{sys.version_info[1]} {build()}"


def verdict(recorded: Mapping[str, int] | None, counts: Mapping[str, int]) -> tuple[list[str], str]:
    """Return the work that became too much worse, with the numbers, and the reason if nothing was compared (else
    "")."""
    if recorded is None:
        return [], f"no record for Python {key()}: `python -m benchmarks guard --record` makes one"
    expected, counted = recorded.get(CALIBRATION, 0), counts[CALIBRATION]
    if not expected / SAME_PYTHON <= counted <= expected * SAME_PYTHON:
        return (
            [],
            f"the record is of another build of Python: {counted:,} instructions for plain Python, not {expected:,}",
        )
    worse = [
        f"{name}: {counts[name]:,} instructions instead of {limit:,}, {counts[name] / limit - 1:+.1%}"
        for name, limit in recorded.items()
        if name in counts and counts[name] > limit * WORSE
    ]
    return worse, ""


def beside(counts: Mapping[str, int]) -> list[str]:
    """Return the work that takes too much more than other work of the same run, with the numbers."""
    return [
        f"{name}: {counts[name]:,} instructions, {counts[name] / counts[other] - 1:+.1%} beside those of {other}"
        for name, (other, limit) in BESIDE.items()
        if name in counts and counts[name] > counts[other] * limit
    ]


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
            worse += beside(counts)
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
