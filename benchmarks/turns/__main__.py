"""The longest turn of the event loop, for each API and each HTTP call, with a request as large as it may be.

    python -m benchmarks turns [--quick] [--json] [--only NAME]

While one turn of the loop lasts, every other client waits. The work, with the smaller numbers of --quick in brackets:

- requests: in the newest version of each request an array has 20,000 elements (2,000)
- their fields: a string has 32,000 bytes, a field of bytes 10 MiB, a pattern 16,379 characters
- changes: brokers with 9,000 partitions of three replicas change, a group of 5,000 members rebalances,
  long logs are compacted (a tenth of each)
- HTTP calls: each is made beside 9,000 topics, partitions, faults, quotas and parked requests (1,000);
  the journal has 31,500 requests (3,500); then each is made with a body of 1 MiB

A figure is CPU time of the thread of the loop (asyncio's), with the garbage collector off. Other programs on the
machine, and the client, do not count.

Prints a table in Markdown for docs/longest-turns.md. There is no limit and no peer: the limits are counted in calls, by
tests/apis/test_longest_slice.py and tests/control/test_control_longest_turns.py.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
from collections.abc import Iterable

from benchmarks.machine.facts import build, commit
from benchmarks.reporting.report import progress
from benchmarks.turns import calls, changes, requests
from benchmarks.turns.requests import Found

ELEMENTS, QUICK_ELEMENTS = 20_000, 2_000
THINGS, QUICK_THINGS = 9_000, 1_000
DATA_BYTES = 10_485_760
MEMBERS, QUICK_MEMBERS = 5_000, 500
ROUNDS = 2


def rows(results: Iterable[Found]) -> list[str]:
    """One line for each API or call: its longest turn, what was filled then, and what else there was."""
    by_name: dict[str, list[Found]] = {}
    for result in results:
        by_name.setdefault(result.name, []).append(result)
    lines = []
    for name, all_of in sorted(by_name.items(), key=lambda item: -max(result.longest_ms for result in item[1])):
        worst, *others = sorted(all_of, key=lambda result: -result.longest_ms)
        rest = "; ".join(f"{result.what} {result.longest_ms:.1f}" for result in others)
        lines.append(f"| {name} | {worst.longest_ms:.1f} | {worst.what} | {rest} |")
    return lines


def page(of_requests: list[Found], of_changes: list[Found], of_calls: list[Found]) -> str:
    head = ["| longest turn, ms | with | else, ms |", "|---|---|---|"]
    made = (
        f"Made on {datetime.date.today()} at commit {commit()}, on {os.cpu_count()} shared cores, Python "
        f"{platform.python_version()}, {build()}."
    )
    parts = [made]
    tables = (
        ("Kafka's protocol", "API", of_requests),
        ("Changes", "change", of_changes),
        ("HTTP control", "call", of_calls),
    )
    for title, name, results in tables:
        parts += ["", f"## {title}", "", f"| {name} {head[0]}", f"|---{head[1]}", *rows(results)]
    return "\n".join(parts)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks turns", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, one round")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    parser.add_argument("--only", default="", metavar="NAME", help="what has this in its name")
    args = parser.parse_args(argv)
    elements, things = (QUICK_ELEMENTS, QUICK_THINGS) if args.quick else (ELEMENTS, THINGS)
    rounds = 1 if args.quick else ROUNDS
    with progress("turns", requests.count(args.only)) as step:
        of_requests = requests.measure(elements, DATA_BYTES, rounds, args.only, step)
    with progress("turns", changes.count(args.only)) as step:
        members, share = (QUICK_MEMBERS, 10) if args.quick else (MEMBERS, 1)
        of_changes = changes.measure(things, members, share, args.only, step)
    with progress("turns", calls.count(args.only)) as step:
        of_calls = calls.measure(things, 7 * things // 2, args.only, step)
    if args.json:
        results = [result._asdict() for result in (*of_requests, *of_changes, *of_calls)]
        print(json.dumps({"name": "turns", "commit": commit(), "found": results}))
    else:
        print(page(of_requests, of_changes, of_calls))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
