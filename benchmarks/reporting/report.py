"""The two ways to show rows: a table, and one line of JSON. And what every benchmark has of both: options, a bar."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.machine.facts import commit, load_average, own_versions
from benchmarks.reporting.rows import Row, number, verdict

WIDTH = 140  # of a table in a file


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


def options(name: str, doc: str | None, argv: list[str], quick: str) -> argparse.Namespace:
    """Parse the options of every benchmark: --quick and --json."""
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
