"""The table of costs, as text: what each test file takes, executes, and executes alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from costs.table import CostTable


def alone(table: CostTable) -> tuple[Counter[str], Counter[str]]:
    """Return by test file the number of lines it executes, and of those that no other test file executes."""
    executed: Counter[str] = Counter()
    files_of: dict[tuple[str, int], list[str]] = {}
    for file, path, lines in table.lines_by_file():
        executed[file] += len(lines)
        for line in lines:
            files_of.setdefault((path, line), []).append(file)
    return executed, Counter(files[0] for files in files_of.values() if len(files) == 1)


def killed_by_file(results: Sequence[Path]) -> Counter[str]:
    """Return by test file how many mutants it alone killed, from the results of `tests.mutants --alone --json`."""
    counts: Counter[str] = Counter()
    for path in results:
        for mutant in json.loads(path.read_text())["mutants"]:
            if mutant["killed_alone"]:
                counts[mutant["killer"].partition("::")[0]] += 1
    return counts


def table_lines(table: CostTable, results: Sequence[Path] = ()) -> list[str]:
    """Return the lines of the table, the most expensive test file first."""
    executed, only = alone(table)
    kills = killed_by_file(results)
    heads = [f"{'CPU s':>8} {'wall s':>8} {'tests':>6} {'lines':>7} {'alone':>6}"]
    if results:
        heads.append(f"{'kills alone':>12}")
    lines = ["".join([*heads, "  test file"])]
    for cost in table.files():
        line = f"{cost.cpu_s:8.2f} {cost.wall_s:8.2f} {cost.tests:6} {executed[cost.file]:7} {only[cost.file]:6}"
        if results:
            line += f"{kills[cost.file]:12}"
        lines.append(f"{line}  {cost.file}")
    total = table.files()
    cpu, count = sum(cost.cpu_s for cost in total), sum(cost.tests for cost in total)
    lines.append(f"{cpu:8.2f} CPU seconds (traced), {count} tests, {len(total)} test files")
    return lines
