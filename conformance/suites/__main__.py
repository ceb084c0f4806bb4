"""`python -m conformance.suites`: the clients' own suites against fakebroker and Apache Kafka, and what differs."""

from __future__ import annotations

import fnmatch
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from conformance.suites.kfake import kfake
from conformance.suites.page import write_page
from conformance.suites.results import Results, only_there
from conformance.suites.sides import SIDES
from conformance.suites.suite import FAILED, LATE, PASSED, NotRun, Suite, end_in_order
from conformance.suites.table import SUITES
from conformance.targets.kafka_box import Unavailable, cache_folder

PEERS = {"kfake": kfake}
console = Console(highlight=False, markup=False, soft_wrap=True)


def run(
    names: Annotated[list[str] | None, typer.Argument(help="The names of suites; all by default.")] = None,
    side: Annotated[str, typer.Option(help="ours, kafka, kfake, or both (ours and kafka).")] = "both",
    tests: Annotated[str, typer.Option(help="Run only tests with this name, with the wildcards * and ?.")] = "*",
    minutes: Annotated[float, typer.Option(help="The time limit. The next run resumes after the last test.")] = 60,
    again: Annotated[bool, typer.Option(help="Also run the other sides again. Ours always runs again.")] = False,
    resume: Annotated[bool, typer.Option(help="Keep the results of ours, and run only missing tests.")] = False,
    page: Annotated[bool, typer.Option(help="Write docs/suites.md from all results in the cache.")] = False,
) -> None:
    """Run the suites, and print each test that passes on Kafka and not on fakebroker. If there is one, the exit status
    is 1."""
    end_in_order()
    known = [suite.name for suite in SUITES]
    for name in names or ():
        if name not in known:
            Console(stderr=True).print(f"suites: no suite is called {name!r}; the suites are {', '.join(known)}")
            raise typer.Exit(2)
    chosen = [suite for suite in SUITES if not names or suite.name in names]
    end = time.monotonic() + minutes * 60
    folder = cache_folder() / "suites"
    sides = list(SIDES) if side == "both" else [side]
    if not set(sides) <= SIDES.keys() | PEERS.keys():
        known = [*SIDES, *PEERS, "both"]
        Console(stderr=True).print(f"suites: no side is called {side!r}; the sides are {', '.join(known)}")
        raise typer.Exit(2)
    short = 0
    for suite in chosen:
        try:
            short += _suite(suite, folder, sides, tests, end, again, resume)
        except (NotRun, Unavailable) as reason:
            console.print(f"{suite.name}: not run: {reason}")
    if page:
        write_page(folder)
    raise typer.Exit(1 if short else 0)


def _suite(suite: Suite, folder: Path, sides: list[str], pattern: str, end: float, again: bool, resume: bool) -> int:
    home = folder / f"{suite.name}-{suite.version}"
    console.print(f"{suite.name}: {suite.package}")
    suite.prepare(home)
    tests = [test for test in suite.tests(home) if fnmatch.fnmatch(test, pattern)]
    for side in sides:
        results = Results(folder, suite, side)
        if (not resume if side == "ours" else again) and pattern == "*":
            results.forget()
        left = tests if pattern != "*" else [test for test in tests if test not in results.by_test]
        if left:
            _run(suite, home, side, left, results, end)
    ours, kafka = (Results(folder, suite, side_name).by_test for side_name in SIDES)
    short = [test for test in only_there(ours, kafka, PASSED) if test in tests]
    for test in short:
        refused = f" (not served: {', '.join(ours[test].refused)})" if ours[test].refused else ""
        console.print(f"  {ours[test].what} on fakebroker, passed on Kafka: {test}{refused}")
    passed = [sum(by_test[test].what == PASSED for test in tests if test in by_test) for by_test in (ours, kafka)]
    console.print(
        f"  {len(tests)} tests; passed on fakebroker {passed[0]}, on Kafka {passed[1]}, on Kafka only {len(short)}"
    )
    return len(short)


def _run(suite: Suite, home: Path, side: str, tests: list[str], results: Results, end: float) -> None:
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    wanted = suite.broker_ids, suite.broker_settings, suite.port
    more: dict[str, Any] = {"racks": suite.racks, "is_proxied": True} if suite.is_proxied and side in SIDES else {}
    if suite.security is not None:
        if side not in SIDES:
            raise NotRun(f"{side} has no listeners with TLS or SASL")
        more["security"] = suite.security
    with (SIDES | PEERS)[side](*wanted, **more) as running, Progress(*columns, console=console) as progress:
        brokers = running.side
        task = progress.add_task(f"{suite.name} on {brokers.name}", total=len(tests))
        for test in tests:
            if time.monotonic() > end:
                console.print(f"  time limit: {suite.name} on {brokers.name} has tests left")
                return
            outcome = suite.run(home, test, brokers)
            result = results.keep(test, outcome, running.refused())
            if result.what in (FAILED, LATE):
                progress.console.print(f"  {brokers.name}: {result.what} {test} ({result.took_s} s)")
            progress.advance(task)


if __name__ == "__main__":
    typer.run(run)
