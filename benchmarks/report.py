"""The page of results, docs/benchmarks.md, from the lines of JSON of a run.

    python -m benchmarks --json > benchmarks/results.jsonl
    python -m benchmarks report

What stands above the mark in the page is written by hand, what is below it comes from `results.jsonl` alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.machine.programs import HERE
from benchmarks.reporting.rows import number

RESULTS = HERE / "results.jsonl"
PAGE = HERE.parent / "docs" / "benchmarks.md"
MARK = "<!-- What follows is written by `python -m benchmarks report`. -->\n"

Result = dict[str, Any]


def read(path: Path) -> list[Result]:
    """Return the results with rows that compare with a peer or a limit. The wheel's are of another shape, and on its
    own page."""
    results = [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]
    return [result for result in results if result["rows"] and "work" in result["rows"][0]]


def verdict(row: Result) -> str:
    return {None: "", True: "met", False: "**missed**"}[row["met"]]


def section(result: Result) -> Iterator[str]:
    before, after = result["load"]
    driver = f", driver in {result['driver']}" if result["driver"] else ""
    yield f"### {result['name']}\n"
    yield f"Load average {before} before and {after} after{driver}.\n"
    yield "| work | peer | ours | theirs | unit | ratio | target | | spread |"
    yield "|---|---|--:|--:|---|--:|--:|---|---|"
    for row in result["rows"]:
        theirs = number(row["theirs"]) if row["theirs"] is not None else row["note"]
        target = "" if row["target"] is None else f"{row['target']:g}"
        parts = " / ".join("-" if part is None else f"{part:.0%}" for part in row["spread"])
        cells = [row["work"], row["peer"], number(row["ours"]), theirs, row["unit"], number(row["ratio"]), target]
        yield "| " + " | ".join([*cells, verdict(row), parts]) + " |"
    yield ""


def results_page(results: list[Result]) -> str:
    """Return the page below the mark."""
    judged = [row for result in results for row in result["rows"] if row["met"] is not None]
    met = sum(row["met"] for row in judged)
    versions: dict[str, str] = {}
    for result in results:
        versions |= result["versions"]
    first = results[0]
    lines = [
        f"Commit {first['commit']}, {first['cores']} cores; "
        + "; ".join(f"{name} {version}" for name, version in versions.items())
        + f". {met} of {len(judged)} targets met.\n"
    ]
    for result in results:
        lines += section(result)
    return "\n".join(lines).rstrip() + "\n"


def main(argv: list[str]) -> int:
    if argv:
        print("benchmarks report takes no arguments", file=sys.stderr)
        return 2
    if not RESULTS.exists():
        print(f"there is no {RESULTS.name}: python -m benchmarks --json > benchmarks/{RESULTS.name}", file=sys.stderr)
        return 2
    by_hand, mark, _ = PAGE.read_text().partition(MARK)
    if not mark:
        print(f"{PAGE.name} has lost its mark: {MARK.strip()}", file=sys.stderr)
        return 2
    PAGE.write_text(by_hand + MARK + "\n" + results_page(read(RESULTS)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
