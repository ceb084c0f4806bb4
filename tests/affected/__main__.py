"""Print the test files that a change can break, or run them.

    python -m tests.affected [--run] [BASE] [-- PYTEST ARGUMENT ...]

The change is what differs from BASE, uncommitted and new files included; without BASE, from where the branch left main.
A test file is affected if it imports what changed, directly or through others. With the table of
`python -m tests.costs`, only tests that execute a changed function count. The selection fits into a minute on two quiet
cores: the most distant files are left out, and stderr names them.

--run runs the files under the conditions of `make quick`, with few examples. It leaves out tests that are slow, need
Spark or stock clients, or soak. Its exit status is pytest's, 0 if nothing is affected.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from costs.table import TABLE, CostTable

from affected.changes import GitError, changes_since, default_base
from affected.choose import BUDGET_S, Choice, choose
from affected.graph import ImportGraph

ROOT = Path(__file__).resolve().parent.parent.parent
LEFT_OUT = ("slow", "spark", "clients", "soak")  # markers
NO_TESTS = 5  # pytest's exit status when all tests are deselected


def main(argv: Sequence[str]) -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="tests.affected", description=__doc__, formatter_class=raw)
    parser.add_argument("--run", action="store_true", help="run the test files")
    parser.add_argument("--budget", type=float, default=BUDGET_S, metavar="S", help="CPU seconds of the tests")
    parser.add_argument("base", nargs="?", metavar="BASE", help="a commit")
    split = argv.index("--") if "--" in argv else len(argv)
    options, arguments = parser.parse_args(argv[:split]), list(argv[split + 1 :])
    try:
        base = options.base or default_base(ROOT)
        changes = changes_since(ROOT, base)
    except GitError as error:
        print(error, file=sys.stderr)
        return 2
    table = CostTable() if TABLE.exists() else None
    choice = choose(ImportGraph(ROOT, ROOT / "build" / "affected" / "facts.json"), changes, table, options.budget)
    tell(choice, len(changes), base, table is not None)
    if not options.run:
        print("\n".join(choice.files))
        return 0
    return run(choice, arguments)


def tell(choice: Choice, changed: int, base: str, has_table: bool) -> None:
    """Say on stderr what was chosen and what was left out."""
    print(f"{changed} files differ from {base[:12]}: {len(choice.files)} test files", file=sys.stderr)
    if choice.is_everything:
        print("a file changed that may break anything: every test file", file=sys.stderr)
    for reason in choice.left_out:
        print(f"left out: {reason}", file=sys.stderr)
    if choice.left_out and not has_table:
        print("`python -m tests.costs` makes the table by which this choice gets better", file=sys.stderr)


def selection(root: Path) -> str:
    """Return the expression for pytest's -m; pytest refuses one with a marker that pyproject.toml does not declare."""
    options = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    declared = {line.partition(":")[0].strip() for line in options["markers"]}
    return f"not ({' or '.join(name for name in LEFT_OUT if name in declared)})"


def run(choice: Choice, arguments: Sequence[str]) -> int:
    if not choice.files:
        return 0
    command = [sys.executable, "-m", "pytest", "--workers", str(os.cpu_count() or 1), "-q", "-m", selection(ROOT)]
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "quick", "FAKEBROKER_SEEDS": "20"}
    files = [] if choice.is_everything else choice.files
    status = subprocess.run([*command, *arguments, *files], cwd=ROOT, env=environment, check=False).returncode
    return 0 if status == NO_TESTS else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
