"""Rows of results, and the two ways to show them: a table, and one line of JSON.

A row has the medians of one run of both sides. Its ratio is above 1 when we are better, whatever the unit; None if one
side is missing, and then the note says why. `target` is what the ratio must reach, where something was promised.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks._build import HERE

WIDTH = 140  # of a table in a file
LIMIT = "limit"  # the peer of a row that is held against a number instead of a broker
MORE_IS_BETTER = {"requests/s", "records/s", "MB/s"}
LESS_IS_BETTER = {"us", "us CPU", "ms", "ms CPU", "MB", "KB", "bytes", "instructions"}
LIBRARIES = ("kio", "crc32c", "uvloop")

Value = float | None


@dataclass(frozen=True)
class Row:
    work: str
    peer: str
    ours: Value
    theirs: Value
    unit: str
    ratio: Value
    spread: tuple[Value, Value] = (None, None)
    target: Value = None
    note: str = ""
    mb_s: tuple[Value, Value] = (None, None)  # where requests/s are also bytes

    def met(self) -> bool | None:
        """None if nothing was promised or nothing was measured."""
        return None if self.target is None or self.ratio is None else self.ratio >= self.target


def spread(samples: Sequence[float]) -> Value:
    """How far the samples lie apart, as a share of their median; None for fewer than two."""
    middle = median(samples)
    return round((max(samples) - min(samples)) / middle, 3) if len(samples) > 1 and middle else None


def compare(
    work: str,
    peer: str,
    unit: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    target: Value = None,
    note: str = "",
    request_bytes: float = 0,
) -> Row:
    """A row from the samples of both sides; no samples of theirs make a missing peer, for which `note` has the reason.

    `request_bytes` adds the MB/s of requests/s. With `peer` LIMIT, `theirs` is the one number that ours is held
    against, and the target is a ratio of 1.
    """
    if unit not in MORE_IS_BETTER | LESS_IS_BETTER:
        raise ValueError(f"{unit!r} is no unit of this report")
    if not ours or not theirs:
        mine = rounded(median(ours)) if ours else None
        return Row(work, peer, mine, None, unit, None, (None, None), target, note or "not measured")
    a, b = median(ours), median(theirs)
    better, worse = (a, b) if unit in MORE_IS_BETTER else (b, a)
    ratio = round(better / worse, 3) if worse else None
    if peer == LIMIT:
        target = 1.0
    mb_s = (rounded(a * request_bytes / 1e6), rounded(b * request_bytes / 1e6)) if request_bytes else (None, None)
    return Row(work, peer, rounded(a), rounded(b), unit, ratio, (spread(ours), spread(theirs)), target, note, mb_s)


def rounded(value: float) -> float:
    """Four digits are more than a run can tell."""
    return float(f"{value:.4g}")


def load_average() -> float:
    return round(os.getloadavg()[0], 2)


@dataclass
class Report:
    """The rows of one benchmark. `versions` grows as peers start."""

    name: str
    driver: str = ""
    rows: list[Row] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    load_before: float = field(default_factory=load_average)

    def add(self, row: Row) -> None:
        self.rows.append(row)

    def as_json(self) -> str:
        facts = {
            "name": self.name,
            "rows": [
                {
                    "work": row.work,
                    "peer": row.peer,
                    "ours": row.ours,
                    "theirs": row.theirs,
                    "unit": row.unit,
                    "ratio": row.ratio,
                    "spread": row.spread,
                    "target": row.target,
                    "met": row.met(),
                    "note": row.note,
                    "mb_s": row.mb_s,
                }
                for row in self.rows
            ],
            "versions": own_versions() | self.versions,
            "cores": os.cpu_count(),
            "commit": commit(),
            "load": [self.load_before, load_average()],
            "driver": self.driver,
        }
        return json.dumps(facts)

    def table(self) -> Table:
        table = Table(title=f"{self.name}: medians of one run; a ratio above 1 means that we are better")
        for column in ("work", "peer"):
            table.add_column(column)
        for column in ("ours", "theirs", "unit", "ratio", "target", "spread"):
            table.add_column(column, justify="left" if column == "unit" else "right", no_wrap=column != "theirs")
        with_bytes = any(row.mb_s != (None, None) for row in self.rows)
        if with_bytes:
            table.add_column("MB/s", justify="right", no_wrap=True)
        last = ""
        for row in self.rows:
            cells = [
                row.work if row.work != last else "",
                row.peer,
                number(row.ours),
                number(row.theirs) if row.theirs is not None else row.note,
                row.unit,
                number(row.ratio),
                "" if row.target is None else f"{row.target:g} {verdict(row)}".strip(),
                " / ".join("-" if part is None else f"{part:.0%}" for part in row.spread),
            ]
            if with_bytes:
                cells.append("" if row.mb_s == (None, None) else " / ".join(number(part) for part in row.mb_s))
            table.add_row(*cells)
            last = row.work
        return table

    def facts(self) -> str:
        known = ", ".join(f"{name} {text}" for name, text in (own_versions() | self.versions).items())
        load = f"load {self.load_before:.1f} before and {load_average():.1f} after"
        driver = f", driver in {self.driver}" if self.driver else ""
        return f"{known}; {os.cpu_count()} cores, {load}{driver}, commit {commit()}"

    def show(self, as_json: bool) -> None:
        if as_json:
            print(self.as_json(), flush=True)
            return
        console = Console()
        if not console.is_terminal:
            console.width = WIDTH
        console.print(self.table())
        console.print(self.facts(), highlight=False, markup=False)


def verdict(row: Row) -> str:
    met = row.met()
    return "" if met is None else "met" if met else "MISSED"


def number(value: Value) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def own_versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "fakebroker": f"{package('fakebroker')} ({build()})"}
    return found | {name: package(name) for name in LIBRARIES}


def package(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def build() -> str:
    """Whether the hot modules run compiled or plain."""
    import timingwheel.wheel

    return "plain" if str(timingwheel.wheel.__file__).endswith(".py") else "compiled"


def commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


def options(name: str, doc: str | None, argv: list[str], quick: str) -> argparse.Namespace:
    """What every benchmark takes: --quick and --json."""
    parser = argparse.ArgumentParser(prog=f"benchmarks {name}", description=(doc or "").strip().splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    return parser.parse_args(argv)


@contextmanager
def progress(name: str, total: int) -> Iterator[Any]:
    """A bar on stderr, gone when done; the value is called with what is measured next."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=total)
        started = False

        def step(what: str) -> None:
            nonlocal started
            bar.update(task, description=f"{name}: {what}", advance=int(started))
            started = True

        yield step


def missing(reasons: Mapping[str, str], peer: str) -> str:
    return f"missing: {reasons[peer]}" if peer in reasons else ""


def end(report: Report, as_json: bool) -> int:
    report.show(as_json)
    sys.stdout.flush()
    return 0
