"""`python -m conformance`: run the same cases against Apache Kafka and fakebroker."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

from conformance.cases import all_cases
from conformance.clients.reports import rows as client_rows
from conformance.clients.runs import run_clients
from conformance.generated.deaths.kept import KeptRound
from conformance.generated.deaths.kept import keep as keep_round
from conformance.generated.deaths.run import DEATHS, run_deaths
from conformance.generated.found import keep as keep_find
from conformance.generated.search import SEED, STREAMS, GeneratedResult, run_generated
from conformance.generated.walks.case_search import CASE_KINDS, run_case_walks
from conformance.generated.walks.search import KINDS, THREE, WALKS, WALKS_OF, WalksResult, run_rounds, run_walks
from conformance.generated.walks.search import SEED as WALKS_SEED
from conformance.generated.walks.walk import step_words
from conformance.lateness import measure_kafka, measure_ours
from conformance.report import results, write
from conformance.sample import code_digest, sample
from conformance.scenario import Case
from conformance.suite import Outcome, Sides, run_cases
from conformance.targets.kafka_box import Unavailable, cache_folder, fetch_kafka, kafka_version
from conformance.tools.console import NoChapter, run_tools
from conformance.transcripts.compare import side_by_side
from conformance.transcripts.golden import Golden, golden, load_all, refresh
from conformance.transcripts.show import case_lines

_NAMES = "The names of cases, with the wildcards * and ?."
_FEW = 20  # if at most so many cases differ, each is run again; more do not differ by chance

app = typer.Typer(add_completion=False, no_args_is_help=True)
console = Console(soft_wrap=True)
_KINDS = (*KINDS, THREE, *CASE_KINDS, *DEATHS)  # of walks


@app.command()
def cases(
    pattern: Annotated[str, typer.Argument(help=_NAMES)] = "*",
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print both transcripts where they differ.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Write Kafka's responses to tests/golden.")] = False,
) -> None:
    """Run the named cases, and print the differences."""
    chosen = _chosen(pattern)
    different = 0
    fresh: dict[str, Golden] = {}
    with Sides() as sides:
        for outcome in run_cases(chosen, sides, lambda box: console.print(f"[dim]starting box {box}[/]")):
            different += outcome.verdict == "different"
            fresh[outcome.case.name] = golden(outcome.case, outcome.recorded, kafka_version())
            _show(console, outcome)
            if verbose and outcome.findings:
                console.print(side_by_side(outcome.kafka, outcome.ours), markup=False, highlight=False)
    if keep:
        known = {kept.case: kept for kept in load_all()} | fresh
        refresh(known[case.name] for case in all_cases() if case.name in known)
    console.print(f"{len(chosen)} cases, {different} different")
    raise typer.Exit(1 if different else 0)


@app.command("run")
def run_all(
    if_reachable: Annotated[
        bool, typer.Option("--if-reachable", help="Succeed with a message if Apache Kafka is not available.")
    ] = False,
    one_in: Annotated[
        int,
        typer.Option(min=1, help="Run one in N cases and walks. Skip the other parts, and write no files."),
    ] = 1,
) -> None:
    """Run everything: cases, generated traffic, walks, lateness and clients. Write tests/golden and
    docs/conformance.md."""
    started = time.monotonic()
    try:
        fetch_kafka()
    except Unavailable as reason:
        if not if_reachable:
            raise
        console.print(f"conformance: not run. {reason}", markup=False, highlight=False)
        return
    if one_in > 1:
        raise typer.Exit(1 if _sample(one_in) else 0)
    with Sides() as sides:
        outcomes, again = _asked_again(_all_cases(sides, all_cases()))
        report = results(kafka_version(), outcomes) | {"again": again}
        generated_traffic = _generated(sides, STREAMS, SEED)
        for difference in generated_traffic.differences:
            _show(console, difference.outcome)
        report |= {
            "generated_streams": generated_traffic.streams,
            "generated": generated_traffic.summary(),
            "seed": SEED,
        }
        report["unexplained"] += len(generated_traffic.differences)
        report |= {"walks": 0, "walked": "", "walks_seed": WALKS_SEED}
        for kind, number in WALKS_OF.items():
            walked = _walks(sides, number, WALKS_SEED, kind)
            for walk_difference in walked.differences:
                _show(console, walk_difference.outcome)
            report["walks"] += walked.walks
            report["walked"] += f"- {kind}: {walked.summary()}\n"
            report["unexplained"] += len(walked.differences)
        console.print("lateness of REQUEST_TIMED_OUT: 500 requests for each timeout, on each side")
        report["lateness"] = [*measure_kafka(sides.kafka["three"]), *measure_ours()]
        console.print(
            "clients: each runs the same jobs against both sides (the first run builds them, which takes minutes)"
        )
        report["clients"] = client_rows(
            *(run_clients(side["clients"], cache_folder()) for side in (sides.kafka, sides.ours))
        )
        report["unexplained"] += sum(row["outcome"] == "different" for row in report["clients"])
    changed = refresh(golden(outcome.case, outcome.recorded, kafka_version()) for outcome in outcomes)
    write(report)
    took_s = time.monotonic() - started
    console.print(
        f"{report['cases']} cases, {report['generated_streams']} generated streams, {report['unexplained']} differences"
        f" without a reason, {len(changed)} golden transcripts new or changed, {took_s:.0f} s"
    )
    raise typer.Exit(1 if report["unexplained"] else 0)


def _sample(one_in: int) -> int:
    """Run a part of the cases and walks. Return the number of differences without a reason."""
    started, every, salt = time.monotonic(), all_cases(), code_digest()
    chosen = sample(every, load_all(), one_in, salt)
    differing: list[Outcome] = []
    with Sides() as sides:
        outcomes, _ = _asked_again(_all_cases(sides, chosen))
        unexplained = sum(outcome.verdict == "different" for outcome in outcomes)
        for kind, number in WALKS_OF.items():
            differing += [
                difference.outcome
                for difference in _walks(sides, max(number // one_in, 1), WALKS_SEED, kind).differences
            ]
    for outcome in differing:
        _show(console, outcome)
    unexplained += len(differing)
    console.print(
        f"{len(chosen)} of {len(every)} cases, and some walks: {unexplained} differences without a reason,"
        f" {time.monotonic() - started:.0f} s; `make conformance` runs all"
    )
    return unexplained


def _all_cases(sides: Sides, chosen: Sequence[Case]) -> list[Outcome]:
    outcomes = []
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=console) as progress:
        task = progress.add_task("cases", total=len(chosen))
        for outcome in run_cases(chosen, sides, lambda box: progress.console.print(f"[dim]starting box {box}[/]")):
            outcomes.append(outcome)
            progress.advance(task)
            if outcome.unexplained:
                _show(progress.console, outcome)
    return outcomes


def _asked_again(outcomes: list[Outcome]) -> tuple[list[Outcome], list[str]]:
    """Run the cases that differ once more, on fresh clusters and without the other cases beside them. On a busy machine
    Kafka too sometimes responds differently. Return the outcomes that count, and the cases that differed only once."""
    different = [outcome.case for outcome in outcomes if outcome.verdict == "different"]
    if not 0 < len(different) <= _FEW:
        return outcomes, []
    with Sides() as sides:
        repeated = {outcome.case.name: outcome for outcome in _all_cases(sides, different)}
    once = [name for name, outcome in repeated.items() if outcome.verdict != "different"]
    return [repeated.get(outcome.case.name, outcome) for outcome in outcomes], once


def _generated(sides: Sides, streams: int, seed: int) -> GeneratedResult:
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=console) as progress:
        task = progress.add_task("generated streams", total=streams)
        return run_generated(sides, streams, seed, lambda so_far: progress.update(task, completed=so_far.streams))


@app.command()
def generated(
    streams: Annotated[int, typer.Option(min=1, help="The number of streams.")] = STREAMS,
    seed: Annotated[int, typer.Option(help="The seed: with the same one the streams are the same.")] = SEED,
    keep: Annotated[bool, typer.Option("--keep", help="Keep streams that differ as cases (generated/found).")] = False,
) -> None:
    """Send random streams of requests to both sides, and shrink those that differ."""
    console.print(f"seed {seed}")
    with Sides() as sides:
        result = _generated(sides, streams, seed)
    for difference in result.differences:
        console.print(f"\n{difference.seen} streams: {difference.signature}", markup=False, highlight=False)
        _show(console, difference.outcome)
        if keep:
            path = keep_find(difference.stream, difference.signature)
            console.print(f"kept as {path}", markup=False, highlight=False)
    for (api, code), times in sorted(result.codes.items()):
        console.print(f"{times:6} {api} {code}", markup=False, highlight=False)
    console.print(result.summary(), markup=False, highlight=False)
    raise typer.Exit(1 if result.differences else 0)


@app.command()
def walks(
    number: Annotated[int, typer.Option("--walks", min=1, help="The number of walks.")] = WALKS,
    seed: Annotated[int, typer.Option(help="The seed: with the same one the walks are the same.")] = WALKS_SEED,
    kind: Annotated[str, typer.Option(help="The kind of walk: " + ", ".join(_KINDS))] = "classic",
    keep: Annotated[
        bool, typer.Option("--keep", help="For kinds of deaths: write Kafka's responses to tests/golden/rounds.")
    ] = False,
) -> None:
    """Run random walks on both sides, and print the differences. In a walk, members of groups, producers or users send
    requests on several connections, or brokers fail."""
    if kind not in _KINDS:
        raise _refuse(f"no kind of walk is called {kind!r}; the kinds are {', '.join(_KINDS)}")
    if keep and kind not in DEATHS:
        raise _refuse(f"--keep works only with the kinds {', '.join(DEATHS)}, not {kind!r}")
    console.print(f"seed {seed}, {kind}")
    with Sides() as sides:
        result = _walks(sides, number, seed, kind, keep_round if keep else lambda kept: None)
    for difference in result.differences:
        times = result.seen[difference.signature]
        console.print(
            f"\n{times} walks: {difference.signature} (walk {difference.seed})", markup=False, highlight=False
        )
        for step in difference.walk.steps:
            console.print(f"    {step_words(step)}", markup=False, highlight=False)
        for line in case_lines(difference.outcome.case, None) if difference.outcome.case.steps else ():
            console.print(f"    {line}", markup=False, highlight=False)
        _show(console, difference.outcome)
    for (api, code), times in sorted(result.codes.items()):
        console.print(f"{times:6} {api} {code}", markup=False, highlight=False)
    console.print(result.summary(), markup=False, highlight=False)
    raise typer.Exit(1 if result.differences else 0)


def _walks(
    sides: Sides,
    number: int,
    seed: int,
    kind: str = "classic",
    keep: Callable[[KeptRound], object] = lambda kept: None,
) -> WalksResult:
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=console) as progress:
        task = progress.add_task(f"walks: {kind}", total=number)

        def tell(so_far: WalksResult) -> None:
            progress.update(task, completed=so_far.walks)

        if kind in DEATHS:
            return run_deaths(sides, number, seed, tell, keep=keep, kind=kind)
        if kind in CASE_KINDS:
            return run_case_walks(sides, number, seed, tell, kind=kind)
        if kind == THREE:
            return run_rounds(sides, number, seed, tell)
        return run_walks(sides, number, seed, tell, kind=kind)


@app.command()
def tools(
    pattern: Annotated[str, typer.Argument(help="The names of chapters, with the wildcards * and ?.")] = "*",
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print all lines that differ.")] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run Kafka's tools again, and do not use kept results.")
    ] = False,
) -> None:
    """Run Kafka's command line tools and kcat against both sides. A run of all chapters writes docs/tools.md."""
    try:
        raise typer.Exit(0 if run_tools(console, pattern, verbose=verbose, fresh=fresh) else 1)
    except NoChapter as error:
        raise _refuse(str(error)) from None


@app.command("list")
def list_cases(pattern: Annotated[str, typer.Argument(help=_NAMES)] = "*") -> None:
    """Print the names of cases, and what each compares."""
    for case in _chosen(pattern):
        console.print(f"{case.name:44} {case.why}", markup=False, highlight=False)


@app.command()
def show(pattern: Annotated[str, typer.Argument(help=_NAMES)]) -> None:
    """Print the requests of the named cases, and Kafka's responses (from tests/golden), field by field."""
    kept = {golden.case: golden for golden in load_all()}
    for number, case in enumerate(_chosen(pattern)):
        for line in [*([""] if number else []), *case_lines(case, kept.get(case.name))]:
            console.print(line, markup=False, highlight=False)


def _chosen(pattern: str) -> list[Case]:
    """Return the cases with this name. If there is none, exit with status 2."""
    chosen = [case for case in all_cases() if fnmatchcase(case.name, pattern)]
    if not chosen:
        raise _refuse(f"no case is called {pattern!r}: `python -m conformance list` shows the names")
    return chosen


def _show(where: Console, outcome: Outcome) -> None:
    where.print(f"{outcome.verdict:10} {outcome.case.name}", markup=False, highlight=False)
    for finding in outcome.findings:
        where.print(
            f"    {finding.path}\n        kafka: {str(finding.kafka)[:400]}\n        ours:  {str(finding.ours)[:400]}\n"
            f"        {finding.reason or 'NOT EXPLAINED'}",
            markup=False,
            highlight=False,
        )


def _refuse(reason: str) -> typer.Exit:
    Console(stderr=True, soft_wrap=True).print(f"conformance: {reason}", markup=False, highlight=False)
    return typer.Exit(2)


def main() -> None:
    try:
        app()
    except Unavailable as reason:
        Console(stderr=True, soft_wrap=True).print(f"conformance: {reason}", markup=False, highlight=False)
        sys.exit(3)


if __name__ == "__main__":
    main()
