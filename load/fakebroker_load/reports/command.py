"""The command `fakebroker-load compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fakebroker_load.console import make_console
from fakebroker_load.errors import USER_ERROR_STATUS
from fakebroker_load.reports.compare import Comparison, Difference, ResultFolder, compare
from fakebroker_load.reports.markdown import table
from fakebroker_load.results.folder import VERDICT_FILE, ResultsError
from fakebroker_load.results.manifest import DamagedResults, check

_HEADERS = ("run: group", "figure", "before", "after", "change", "")


def compare_runs(
    before: Annotated[Path, typer.Argument(metavar="A", help="A folder that `run` wrote.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="Another one, later.")],
    limit: Annotated[
        float, typer.Option(min=0.0, help="By what share a time may grow, or throughput fall: 0.1 is a tenth.")
    ] = 0.1,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures there.")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table there.")] = None,
) -> int:
    """Compare the results in two folders: exit status 1 if the second is worse, 2 if they have no group in common."""
    comparison = compare(_results(before), _results(after), limit)
    for file, text in (
        (json_file, json.dumps(comparison.as_json(), indent=1) + "\n"),
        (markdown, as_markdown(comparison)),
    ):
        if file is not None:
            try:
                file.write_text(text, encoding="utf-8")
            except OSError as error:
                raise ResultsError(f"{file} cannot be written: {error.strerror}.") from error
    print_comparison(make_console(), comparison)
    if comparison.is_worse:
        return 1
    return 0 if comparison.ok else USER_ERROR_STATUS


def _results(folder: Path) -> ResultFolder:
    check(folder, [VERDICT_FILE])
    try:
        return ResultFolder(folder)
    except (ValueError, KeyError, TypeError):
        raise DamagedResults(folder, f"{VERDICT_FILE} is not as this release writes it") from None


def print_comparison(console: Console, comparison: Comparison) -> None:
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for at, header in enumerate(_HEADERS):
        shown.add_column(header, justify="right" if 1 < at < 5 else "left")
    label = ""
    for difference in comparison.differences:
        own = f"{difference.run}: {difference.group}"
        cells = [escape(cell) for cell in _cells(difference)]
        if difference.is_regression:
            cells[-1] = f"[bold red]{cells[-1]}[/]"
        shown.add_row(escape(own) if own != label else "", *cells)
        label = own
    console.print(shown)
    for note in comparison.notes:
        console.print(escape(note), soft_wrap=True)
    console.print(f"[bold {'green' if comparison.ok else 'red'}]{escape(sentence(comparison))}[/]", soft_wrap=True)


def as_markdown(comparison: Comparison) -> str:
    rows = [(f"{difference.run}: {difference.group}", *_cells(difference)) for difference in comparison.differences]
    notes = [f"- {note}" for note in comparison.notes]
    return "\n".join([f"## {sentence(comparison)}", "", table(_HEADERS, rows, right_from=2), "", *notes, ""])


def sentence(comparison: Comparison) -> str:
    """Return the conclusion of the comparison."""
    if comparison.verdicts[0] and not comparison.verdicts[1]:
        return "Worse: the first was confirmed, the second was not."
    if comparison.regressions:
        return (
            f"Worse in {len(comparison.regressions)} of {len(comparison.differences)} figures, "
            f"limit {100 * comparison.limit:g} %."
        )
    if not comparison.differences:
        return "Nothing was compared: the two have no group in common."
    return f"Not worse: no figure is, by more than {100 * comparison.limit:g} % and more than chance."


def _cells(difference: Difference) -> tuple[str, ...]:
    word = "worse" if difference.is_regression else "chance" if difference.is_chance else ""
    change = "" if difference.change is None else f"{difference.change:.2f}x"
    return difference.what, _figure(difference.before), _figure(difference.after), change, word


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 1_000 else f"{value:,.2f}"
