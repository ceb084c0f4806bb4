"""Make the cost and coverage table, or print it.

    python -m tests.costs [--jobs N] [PYTEST ARGUMENT ...]
    python -m tests.costs --table [--results FILE ...]

The first form runs the tests once that pytest selects with these arguments, or without arguments those of plain
`pytest`. It records them in build/costs/table.sqlite. Rows of test files that ran are replaced, other rows stay: after
a change of a few tests, name their files. Exit status 1 if a test failed; it is then not used to judge mutants.

--table prints for each test file its CPU and wall seconds (with tracing), and its tests. It also has the number of
lines of the package that the file executes, and that only this file executes. With results of
`python -m tests.mutants --random N --alone --json FILE` it has the number of mutants that only this file killed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from costs.report import table_lines
from costs.table import ROOT, TABLE, CostTable


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tests.costs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that run tests")
    parser.add_argument("--table", action="store_true", help="print the table instead of making it")
    parser.add_argument("--results", type=Path, action="append", default=[], help="results of mutants, as JSON")
    options, selection = parser.parse_known_args(argv)
    if options.table:
        if not TABLE.exists():
            print(f"{TABLE} does not exist; make it with: python -m tests.costs", file=sys.stderr)
            return 2
        print("\n".join(table_lines(CostTable(), options.results)))
        return 0
    with tempfile.TemporaryDirectory(prefix="costs-") as folder:
        status = record(Path(folder), options.jobs, selection)
        table = CostTable()
        count = table.add(Path(folder))
        print(f"{count} tests recorded in {TABLE.relative_to(ROOT)}; pytest's exit status was {status}")
        for node in table.failed():
            print(f"failed, so not used: {node}")
    return int(status != 0)


def record(folder: Path, jobs: int, selection: Sequence[str]) -> int:
    """Run the selected tests with the recording plugin, and return pytest's exit status."""
    command = [sys.executable, "-m", "pytest", "-p", "costs.recording", "-p", "no:cacheprovider", "-q"]
    if jobs > 1:
        command += ["-n", str(jobs), "--dist", "loadscope"]
    return subprocess.run([*command, *selection], cwd=ROOT, env=environment(ROOT, folder), check=False).returncode


def environment(root: Path, folder: Path) -> dict[str, str]:
    """Return the environment of a recording run: the profile and the seeds are those of the runs against mutants."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")]),
        "HYPOTHESIS_PROFILE": "random-mutants",
        "FAKEBROKER_SEEDS": "60",
        "FAKEBROKER_COSTS": str(folder),
        "COVERAGE_CORE": "ctrace",  # sys.monitoring cannot tell one test from another
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
