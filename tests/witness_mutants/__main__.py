"""Change one thing in the records of an honest run, judge it again, and see whether the verdict notices.

    python -m tests.witness_mutants [--seed S] [--count N] [--scenario NAME ...] [--singly N] [--runs DIR] [--json FILE]
    python -m tests.witness_mutants --wire [--seed S] [--count N] [--json FILE]

Each bundled scenario is run once with few requests. Then N mutants are drawn by seed, half of them judged three ways
and half of them two ways. A mutant is found if the verdict is red and names the changed row by its connection or its
partition. Otherwise it is not judged, if no rule judges the field. It is excused if the table of facts (docs/facts.md)
or listed.toml names this kind of change, for such rows. All others survive.

--runs keeps the runs in a folder, or takes them from there. So the same seed draws the same mutants again.
--singly judges so many of the mutants once more, each alone, and compares.

--wire alters messages instead: between load and broker, one thing of one message in each of N short runs. It is a field
by the codec's definitions, an element of an array, or a field of a batch or a record. Or the whole frame is dropped,
doubled or delayed.

Each run is judged three ways and two ways. A mutant is also found if the load ends with an error. A load or a
verdict that fails with a traceback is a survivor.

Exit status 0: no survivor; 1: survivors;
3: nothing was measured, since a run without a change was not confirmed, or a mutant alone was judged otherwise.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from support.few_rows import FOR_FEW_ROWS

from fakebroker_load.scenario.reading import bundled
from fakebroker_load.session import spark_session
from witness_mutants.campaign import NotMeasured, Tried, judged_again, tried
from witness_mutants.recording import load_recording, record_small
from witness_mutants.rows import Rows
from witness_mutants.tables import as_json, print_results
from witness_mutants.wire.campaign import catalogue_of, tried_on_the_wire
from witness_mutants.wire.runs import SCENARIOS

RECORDED_AT_ONCE = 4  # runs mostly wait
MANY_ROWS = 1_000_000
NOT_MEASURED_STATUS = 3


def main(argv: Sequence[str]) -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="tests.witness_mutants", description=__doc__, formatter_class=raw)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--scenario", action="append", choices=bundled(), metavar="NAME")
    parser.add_argument("--singly", type=int, default=6, metavar="N")
    parser.add_argument("--runs", type=Path, metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--wire", action="store_true")
    options = parser.parse_args(argv)
    if options.wire and (options.scenario or options.runs):
        parser.error("--wire has runs of its own: neither --scenario nor --runs")
    console = Console(width=None if sys.stdout.isatty() else 160)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
    )
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="witness-mutants-")))
        stack.enter_context(bar)
        results: list[Tried] = []
        try:
            for some in on_the_wire(bar, options, work) if options.wire else in_records(bar, options, work):
                results += some
        except NotMeasured as problem:
            print(f"witness mutants: {problem}", file=sys.stderr)
            return NOT_MEASURED_STATUS
    if options.json:
        options.json.write_text(json.dumps(as_json(results), indent=1) + "\n")
    return print_results(console, results)


def in_records(bar: Progress, options: argparse.Namespace, work: Path) -> Iterator[list[Tried]]:
    """Change one row of honest runs, and yield the results of each stack. Raises NotMeasured."""
    scenarios, runs = options.scenario or bundled(), options.runs or work / "runs"
    task = bar.add_task("honest runs", total=len(scenarios))
    for _ in recorded(scenarios, runs):
        bar.advance(task)
    with spark_session(rows=MANY_ROWS) as spark:
        task = bar.add_task("mutants", total=options.count)
        results: list[Tried] = []
        rows = [Rows(load_recording(runs / name)) for name in scenarios]
        for some in tried(spark, rows, options.seed, options.count, work / "judged"):
            results += some
            yield some
            bar.advance(task, len(some))
        judged_again(spark, results, options.seed, options.singly, runs, work / "singly")


def on_the_wire(bar: Progress, options: argparse.Namespace, work: Path) -> Iterator[list[Tried]]:
    """Alter one message of each run, and yield the results of each stack. Raises NotMeasured."""
    task = bar.add_task("altered messages", total=options.count)
    with processes() as pool, spark_session(settings=FOR_FEW_ROWS) as spark:
        catalogues = list(pool.map(catalogue_of, SCENARIOS, [work / name for name in SCENARIOS]))
        yield from tried_on_the_wire(
            spark, pool, catalogues, options.seed, options.count, work / "wire", lambda: bar.advance(task)
        )


def processes() -> ProcessPoolExecutor:
    """Return a pool for runs."""
    spawned = multiprocessing.get_context("spawn")  # a fork would take the thread of the progress bar along
    return ProcessPoolExecutor(RECORDED_AT_ONCE, spawned)


def recorded(scenarios: Sequence[str], runs: Path) -> Iterator[str]:
    """Run each scenario that has no run yet, several at a time, and yield its name."""
    missing = [name for name in scenarios if not (runs / name / "run.json").exists()]
    with processes() as pool:
        yield from (name for name in scenarios if name not in missing)
        yield from pool.map(record_small, missing, [runs / name for name in missing])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
