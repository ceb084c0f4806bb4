"""`python -m conformance`: the cases, against Apache Kafka and fakebroker."""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from typing import Annotated

import typer
from rich.console import Console

from conformance.cases import all_cases
from conformance.compare import side_by_side
from conformance.kafka_box import Unavailable
from conformance.suite import Sides, run_cases

app = typer.Typer(add_completion=False, no_args_is_help=True)
console = Console()


@app.command()
def cases(
    pattern: Annotated[str, typer.Argument(help="Names of cases, with * and ?")] = "*",
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show both transcripts of what differs.")] = False,
) -> None:
    """Run the named cases and print what differs."""
    chosen = [case for case in all_cases() if fnmatchcase(case.name, pattern)]
    if not chosen:
        raise _refuse(f"no case is called {pattern!r}: `python -m conformance list` shows the names")
    different = 0
    with Sides() as sides:
        for outcome in run_cases(chosen, sides, lambda box: console.print(f"[dim]starting box {box}[/]")):
            console.print(f"{outcome.verdict:10} {outcome.case.name}", markup=False, highlight=False)
            different += outcome.verdict == "different"
            for finding in outcome.findings:
                console.print(
                    f"    {finding.path}\n        kafka: {str(finding.kafka)[:400]}\n        ours:  "
                    f"{str(finding.ours)[:400]}\n        {finding.reason or 'NOT EXPLAINED'}",
                    markup=False,
                    highlight=False,
                )
            if verbose and outcome.findings:
                console.print(side_by_side(outcome.kafka, outcome.ours), markup=False, highlight=False)
    console.print(f"{len(chosen)} cases, {different} different")
    raise typer.Exit(1 if different else 0)


@app.command("list")
def list_cases() -> None:
    """The names of all cases, and what each compares."""
    for case in all_cases():
        console.print(f"{case.name:40} {case.why}", markup=False, highlight=False)


def _refuse(reason: str) -> typer.Exit:
    Console(stderr=True).print(f"conformance: {reason}", markup=False, highlight=False)
    return typer.Exit(2)


def main() -> None:
    try:
        app()
    except Unavailable as reason:
        Console(stderr=True).print(f"conformance: {reason}", markup=False, highlight=False)
        sys.exit(3)


if __name__ == "__main__":
    main()
