"""What a user of the load sees on the terminal: a progress bar, the verdict as a table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from load.verdict import GroupVerdict, Verdict

WIDTH_WITHOUT_TERMINAL = 130  # in a log nothing has to be folded


def make_console() -> Console:
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)


@contextmanager
def progress_bar(console: Console, text: str, requests: int) -> Iterator[Callable[[int, int], None]]:
    """A bar for the time of the block; gives the callback that `run_scenario` takes."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("requests"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(escape(text), total=requests)
        yield lambda sent, done: progress.update(bar, completed=done)


def verdict_table(verdict: Verdict) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for header in ("group", "expected"):
        table.add_column(header, overflow="fold")
    for header in ("requests", "confirmed"):
        table.add_column(header, justify="right")
    table.add_column("answered", overflow="fold")
    for header in ("p50", "p99", "max"):
        table.add_column("late ms\n" + header if header == "p50" else "\n" + header, justify="right")
    run = ""
    for group in verdict.groups:
        if group.run != run:
            run = group.run
            table.add_row(f"[bold]{escape(run)}[/]")
        table.add_row(
            "  " + escape(group.group),
            escape(group.expected),
            f"{group.requests:,}",
            f"[{'green' if group.ok else 'bold red'}]{group.confirmed:,}[/]",
            escape(", ".join(f"{name} {count:,}" for name, count in group.answers.items())),
            *(as_ms(value) for value in (group.lateness_p50_us, group.lateness_p99_us, group.lateness_max_us)),
        )
    return table


def as_ms(microseconds: int | None) -> str:
    return "" if microseconds is None else f"{microseconds / 1000:,.1f}"


def print_verdict(console: Console, verdict: Verdict) -> None:
    console.print(verdict_table(verdict))
    for group in verdict.groups:
        for text in complaints(group):
            console.print(f"[red]{escape(text)}[/]")
    early = sum(group.early for group in verdict.groups)
    colour, word = ("green", "Confirmed") if verdict.ok else ("red", "Not confirmed")
    console.print(
        f"[bold {colour}]{word}[/]: {verdict.confirmed:,} of {verdict.requests:,} requests got what they should, "
        f"{early:,} answered early, lateness limit {verdict.lateness_limit_ms:,} ms."
    )


def complaints(group: GroupVerdict) -> list[str]:
    texts = [f"{group.run}: {group.group}: {name}: {count:,}" for name, count in group.problems.items()]
    if group.rows != group.requests:
        texts.append(f"{group.run}: {group.group}: {group.rows:,} results for {group.requests:,} requests")
    return texts
