"""The cost of a load and its verdict as requests grow: times, and the most memory of driver and executors.

    python -m benchmarks curve [--sent N ...] [--made N ...] [--rate R]

`--sent` sends N requests and judges them three ways, as the benchmark `load` does. `--made` judges N requests that were
made instead of sent, as `verdict` does. Each measurement replaces the earlier one of its kind and size in
results.jsonl. Then everything below the mark in docs/load.md is written, from that file alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.load.__main__ import RATE
from benchmarks.load.__main__ import measured as load_of
from benchmarks.machine.facts import commit, load_average
from benchmarks.machine.programs import HERE
from benchmarks.verdict.__main__ import WAYS
from benchmarks.verdict.__main__ import measured as verdict_of

SIZES = (100_000, 1_000_000, 10_000_000)
SENT, MADE = "sent", "made"
RESULTS = HERE / "curve" / "results.jsonl"
PAGE = HERE.parent / "docs" / "load.md"
MARK = "<!-- What follows is written by `python -m benchmarks curve`. -->\n"
COLUMNS = {
    "load, s": "load_s",
    "reading log and journal, s": "after_s",
    "judging, s": "judge_s",
    "its CPU, s": "judge_cpu_s",
    "driver, MB": "driver_mb",
    "JVM, MB": "jvm_mb",
    "a task, MB": "task_mb",
}
ABOUT = """\
Peak memory is resident (RSS). With `local`, the JVM is that of Spark's driver and of its executors. A
task is the largest Python process of an executor. Made rows have no load, and no log or journal to
read. The load average is that of the whole machine, before and after. If it is above the number of
cores, other work took processor time, and CPU time tells more than seconds.
"""
Result = dict[str, Any]


def main(argv: list[str]) -> int:
    chosen = _options(argv)
    by_hand, mark, _ = PAGE.read_text().partition(MARK)
    if not mark:
        print(f"{PAGE.name} has lost its mark: {MARK.strip()}", file=sys.stderr)
        return 2
    for kind, sizes in ((SENT, chosen.sent), (MADE, chosen.made)):
        for requests in sizes:
            before = load_average()
            measurement = load_of(requests, chosen.rate) if kind == SENT else verdict_of(requests, max(WAYS))
            facts: dict[str, Any] = {"date": time.strftime("%Y-%m-%d"), "commit": commit(), "cores": os.cpu_count()}
            facts |= {"average": [before, load_average()], "rate": chosen.rate if kind == SENT else None}
            keep({"requests": requests, "rows": kind} | facts | measurement)
    PAGE.write_text(by_hand + MARK + "\n" + "\n".join(section(read())))
    return 0


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks curve", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sent", type=int, nargs="+", default=[], help="requests to send and to judge")
    parser.add_argument("--made", type=int, nargs="+", default=[], help="requests to make, and to judge")
    parser.add_argument("--rate", type=float, default=RATE, help=f"requests a second; default: {RATE:,}")
    return parser.parse_args(argv)


def read() -> list[Result]:
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def keep(measurement: Result) -> None:
    """Add a measurement, in the place of that of the same kind and size."""
    others = [one for one in read() if (one["requests"], one["rows"]) != (measurement["requests"], measurement["rows"])]
    ordered = sorted([*others, measurement], key=lambda one: (one["requests"], one["rows"] == MADE))
    RESULTS.write_text("".join(json.dumps(one) + "\n" for one in ordered))


def section(results: list[Result]) -> Iterator[str]:
    """Yield the lines below the mark."""
    yield ABOUT
    yield f"| requests | rows | {' | '.join(COLUMNS)} | cores | load average | commit |"
    yield "|--:|---|" + "--:|" * (len(COLUMNS) + 1) + "---|---|"
    for one in results:
        rows = f"sent, {one['rate']:,.0f}/s" if one["rows"] == SENT else MADE
        cells = [f"{one[key]:,.0f}" if key in one else "" for key in COLUMNS.values()]
        average = " and ".join(f"{load:.1f}" for load in one["average"])
        yield f"| {one['requests']:,} | {rows} | {' | '.join(cells)} | {one['cores']} | {average} | {one['commit']} |"
    for requests in SIZES:
        if requests not in {one["requests"] for one in results}:
            yield f"| {requests:,} | not measured |{' |' * (len(COLUMNS) + 3)}"
    yield ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
