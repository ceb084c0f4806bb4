"""`python -m conformance tools`: runs the chapters, prints what differs, writes the page."""

from __future__ import annotations

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TaskID

from conformance.targets.kafka_box import kafka_version
from conformance.tools.compare import Row, compare, unneeded
from conformance.tools.jvm import Jvm, tools_version
from conformance.tools.page import PAGE, page
from conformance.tools.run import Ran
from conformance.tools.suite import chosen, run_kafka, run_ours

_SHOWN = 6  # lines of a difference, unless all are asked for


class NoChapter(Exception):
    """No chapter has such a name, or none of them can be run here; the message says which there are."""


def run_tools(console: Console, pattern: str, *, verbose: bool, fresh: bool) -> bool:
    """Run the chapters of that name; all of them write docs/tools.md. True if nothing differs without a reason, and
    each reason is needed. Raises NoChapter, Unavailable."""
    chapters, skipped = chosen(pattern)
    if not chapters:
        raise NoChapter(
            f"no chapter that can be run here is called {pattern!r}{''.join(f'; {reason}' for reason in skipped)}"
        )
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=console) as progress:
        tasks: dict[str, TaskID] = {}

        def told(side: str, ran: Ran | None) -> None:
            if ran is None:
                tasks[side] = progress.add_task(side, total=sum(len(chapter.commands()) for chapter in chapters))
            else:
                progress.advance(tasks[side])

        with Jvm() as jvm:
            kafka = run_kafka(chapters, jvm, told, fresh=fresh)
            rows = compare(chapters, kafka, run_ours(chapters, kafka, jvm, told))
    for row in rows:
        _show(console, row, verbose=verbose)
    for reason in skipped:
        console.print(f"not run: {reason}", markup=False, highlight=False)
    stale = []
    if pattern == "*":
        PAGE.write_text(page(rows, chapters, kafka_version(), tools_version(), skipped))
        stale = [] if skipped else unneeded(rows)
        for explanation in stale:
            console.print(f"explains nothing any more: {explanation}", markup=False, highlight=False)
    different = sum(row.verdict == "different" for row in rows)
    console.print(f"{len(rows)} commands, {different} different without a reason")
    return not different and not stale


def _show(console: Console, row: Row, *, verbose: bool) -> None:
    if row.verdict == "same" or (row.verdict == "explained" and not verbose):
        return
    console.print(f"{row.verdict:10} {row.kafka.chapter}: {row.kafka.line}", markup=False, highlight=False)
    for line in row.differing[: None if verbose else _SHOWN]:
        console.print(f"    {line[: None if verbose else 300]}", markup=False, highlight=False)
