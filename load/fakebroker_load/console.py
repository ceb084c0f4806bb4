"""Output of the load on the terminal: a progress bar, and the verdict as a table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from fakebroker_load.judging.findings import NOT_MEASURED, RIGHT, WRONG
from fakebroker_load.judging.group_verdict import GroupVerdict
from fakebroker_load.judging.percentiles import EXACT_ROWS, SKETCH
from fakebroker_load.judging.unjudged import FEW
from fakebroker_load.verdict import Reason, Verdict

WIDTH_WITHOUT_TERMINAL = 150  # no line needs folding in a log
WIDE_COLUMNS = 135
COLOURS = {RIGHT: "green", NOT_MEASURED: "yellow", WRONG: "red"}


def make_console() -> Console:
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)


@contextmanager
def progress_bar(
    console: Console, text: str, requests: int, of: str = "requests"
) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar during the block. Yield the callback for `run_scenario`."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(of),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(escape(text), total=requests)
        yield lambda sent, done: progress.update(bar, completed=done)


def verdict_table(verdict: Verdict, width: int) -> Table:
    """Return a table with one row for each group. A narrow table lacks the responses: complaints below it show
    unexpected ones."""
    wide = width >= WIDE_COLUMNS
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("\ngroup")
    table.add_column("\nexpected", no_wrap=True)
    table.add_column("\nrequests", justify="right")
    table.add_column("\nconfirmed" if wide else "con-\nfirmed", justify="right")
    if wide:
        table.add_column("\nanswered")
    for header in ("late ms\np50", "\np99", "\nmax", *(("sent late\np99", "\nmax") if wide else ())):
        table.add_column(header, justify="right")
    run = ""
    for group in verdict.groups:
        if group.run != run:
            run = group.run
            table.add_row(f"[bold]{escape(run)}[/]")
        lateness = (group.lateness_p50_us, group.lateness_p99_us, group.lateness_max_us)
        table.add_row(
            "  " + escape(group.group) if wide else escape(group.group),
            escape(group.expected),
            f"{group.requests:,}",
            f"[{'green' if group.ok else 'bold red'}]{group.confirmed:,}[/]",
            *([escape(answers(group))] if wide else []),
            *map(as_ms, lateness),
            *(map(as_ms, group.send_delay_us[1:]) if wide else ()),
        )
    return table


def answers(group: GroupVerdict) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in group.answers.items())


def as_ms(microseconds: int | None) -> str:
    return "" if microseconds is None else f"{microseconds / 1000:,.1f}"


def print_verdict(console: Console, verdict: Verdict) -> None:
    console.print(verdict_table(verdict, console.width))
    for group in verdict.groups:
        for text in complaints(group):
            console.print(f"[red]{escape(text)}[/]")
    if verdict.unexplained:
        console.print(f"[red]{verdict.unexplained:,} records in the log that no request has sent[/]")
    if verdict.beside:
        console.print(f"[red]{verdict.beside:,} findings in the broker's journal that no row of a request has[/]")
    if verdict.logs_amiss:
        console.print(f"[red]{verdict.logs_amiss:,} findings in the logs that no row of a request has[/]")
    for reason in verdict.reasons:
        console.print(f"[red]{escape(reason_text(reason))}[/]", soft_wrap=True)
    console.print(log_sentence(verdict))
    if any(group.is_sketched for group in verdict.groups):
        console.print(escape(percentile_sentence(verdict)), soft_wrap=True)
    for way in verdict.ways:
        console.print(escape(way.sentence()), soft_wrap=True)
    for unjudged in verdict.unjudged:
        console.print(f"[dim]{escape(unjudged.sentence(FEW))}[/]", soft_wrap=True)
    early = sum(group.early for group in verdict.groups)
    finding = verdict.finding
    colour = COLOURS[finding.kind]
    if not verdict.ok:
        for sentence in finding.sentences:
            console.print(escape(sentence), soft_wrap=True)
        console.print(f"[bold {colour}]{finding.headline}.[/]")
    console.print(
        f"[bold {colour}]{verdict.word}[/]: {verdict.confirmed:,} of {verdict.requests:,} requests got what they "
        f"should, {early:,} answered early, lateness limit {verdict.lateness_limit_ms:,} ms."
    )


def reason_text(reason: Reason) -> str:
    """Describe a kind of mismatch by its first row."""
    row = reason.example
    request = f"request {row['sequence']} of connection {row['connection']} to " if row["sequence"] is not None else ""
    return (
        f"  {reason.kind}: {reason.problem}: {reason.rows:,}, the first: {request}{row['topic']}-{row['partition']}; "
        f"{row['says']}"
    )


def log_sentence(verdict: Verdict) -> str:
    """Say whether the log was read back and compared."""
    if verdict.records is None:
        return "The log was not read back: the verdict is on the answers alone."
    return f"{verdict.records:,} records read back from the log, and compared with what their requests were told."


def percentile_sentence(verdict: Verdict) -> str:
    """Say which percentiles are exact."""
    large = [f"{group.run}: {group.group}" for group in verdict.groups if group.is_sketched]
    if not large:
        return "Percentiles are exact."
    return (
        f"Percentiles of groups with more than {EXACT_ROWS:,} rows come from a sketch: never too low, and too high by "
        f"at most 3 in {SKETCH:,} of the rows ({', '.join(large)}). Those of other groups are exact, and so is each "
        "maximum."
    )


def complaints(group: GroupVerdict) -> list[str]:
    """Return the problems of a group in one line; none if all is right."""
    texts = [f"{name}: {count:,}" for name, count in group.problems.items()]
    if group.sent_late:
        late = as_ms(group.send_delay_us[1])
        texts.append(
            f"sent late: 1 in 100 by {late} ms or more, limit {group.send_delay_limit_ms:,} ms; "
            "this was not the load that the scenario asks for"
        )
    texts += group.amiss
    if group.rows != group.requests:
        texts.append(f"{group.rows:,} results for {group.requests:,} requests")
    return [f"{group.run}: {group.group}: {'; '.join(texts)} (answered {answers(group) or 'nothing'})"] if texts else []
