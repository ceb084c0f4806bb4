"""Tables of a campaign: outcomes by scenario and ways, then by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from witness_mutants.campaign import OUTCOMES, Tried
from witness_mutants.listed import SURVIVOR


def print_results(console: Console, results: Sequence[Tried]) -> int:
    """Print the tables, and return the exit status: 1 if a mutant survives."""
    table = Table(box=None, pad_edge=False)
    table.add_column("scenario, or message")
    for ways in (3, 2):
        for outcome in OUTCOMES:
            table.add_column(f"{ways} ways:\n{outcome}", justify="right")
    counts = Counter((one.scenario, one.ways, one.outcome) for one in results)
    scenarios = sorted({one.scenario for one in results})
    for name in scenarios:
        table.add_row(name, *_cells([counts[name, ways, outcome] for ways in (3, 2) for outcome in OUTCOMES]))
    total = Counter((one.ways, one.outcome) for one in results)
    table.add_row("all", *_cells([total[ways, outcome] for ways in (3, 2) for outcome in OUTCOMES]))
    console.print(table)
    for outcome in OUTCOMES[1:]:
        if some := [one for one in results if one.outcome == outcome]:
            console.print(f"\n{outcome}, by kind:")
            print_kinds(console, results, some, outcome == SURVIVOR)
    sums = Counter(one.outcome for one in results)
    console.print(f"\n{len(results):,} mutants: {', '.join(f'{sums[outcome]:,} {outcome}' for outcome in OUTCOMES)}")
    return int(sums[SURVIVOR] > 0)


def print_kinds(console: Console, results: Sequence[Tried], some: Sequence[Tried], with_example: bool) -> None:
    """Print a line for each kind: the share that was found, in how many ways, and an example."""
    drawn = Counter((one.ways, one.kind) for one in results)
    counts = Counter((one.ways, one.kind) for one in some)
    first = {(one.ways, one.kind): one for one in reversed(some)}
    for (ways, kind), count in sorted(counts.items(), key=lambda entry: (entry[0][1], -entry[0][0])):
        line = f"{count:4} of {drawn[ways, kind]:4}  {ways} ways  {kind}"
        one = first[ways, kind]
        if with_example:
            line += f"\n{'':23}{one.scenario}, number {one.number}: {one.told.partition(' (')[2][:-1]}"
            line += f"\n{'':23}{one.said}" if one.is_red else ""
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def as_json(results: Sequence[Tried]) -> list[dict[str, Any]]:
    return [one._asdict() | {"kind": one.kind._asdict()} for one in results]


def _cells(counts: Sequence[int]) -> list[str]:
    return [f"{count:,}" for count in counts]
