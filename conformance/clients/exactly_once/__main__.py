"""The command `python -m conformance.clients.exactly_once`: is each effect there exactly once, with each client that
has transactions?

All parts (page.py) run once for each version of transactions. `--kafka` runs them on Apache Kafka too, and compares
point by point. The results are kept in the cache; `--page` writes docs/exactly-once.md from there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from conformance.clients.builds import CLIENTS, Client, NotRun, build, started
from conformance.clients.exactly_once.kept import KAFKA, OURS, VERSIONS, Kept, differences
from conformance.clients.exactly_once.kinds import KINDS, Kind, Result, play
from conformance.clients.exactly_once.page import write_page
from conformance.suite import Sides
from conformance.targets.kafka_box import Unavailable, cache_folder
from conformance.targets.target import FakeTarget, KafkaTarget

NAMES = ("kafka-clients", "franz-go", "librdkafka", "aiokafka", "kafka-python")
_BOX = "exactly-once"

console = Console(highlight=False, markup=False, soft_wrap=True)


def run(
    names: Annotated[list[str] | None, typer.Argument(help="The names of clients; all by default.")] = None,
    kafka: Annotated[bool, typer.Option("--kafka", help="Also run against Apache Kafka.")] = False,
    kafka_alone: Annotated[
        bool,
        typer.Option(
            "--kafka-alone", help="Run against Apache Kafka only, and compare with the kept results of fakebroker."
        ),
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option(help=f"Run only these kinds: {', '.join(kind.name for kind in KINDS)}.")
    ] = None,
    version: Annotated[list[int] | None, typer.Option(help="The transaction version, 2 or 1; both by default.")] = None,
    page: Annotated[
        bool, typer.Option("--page", help="Run nothing, and write the page from the kept results.")
    ] = False,
) -> None:
    """Run the clients. Print a line for each, and for each input with an effect that is missing or repeated."""
    _check("client", names, NAMES)
    _check("kind", only, [kind.name for kind in KINDS])
    _check("version of transactions", version, VERSIONS)
    kept = Kept(cache_folder() / "exactly-once.json")
    if page:
        write_page(kept, NAMES)
        return
    wrong = 0
    for client in CLIENTS:
        if client.name not in (names or NAMES):
            continue
        try:
            folder = build(client.folder, cache_folder())
        except NotRun as reason:
            console.print(f"not run: {client.name}: {reason}")
            continue
        command = started(replace(client, command=client.processor or client.command), folder), folder
        with Sides() as sides:
            for transaction_version in version or VERSIONS:
                for kind in KINDS:
                    if only and kind.name not in only:
                        continue
                    on_kafka = (kafka or kafka_alone) and (kind.on_kafka or bool(only))
                    chosen = [OURS] * (not kafka_alone) + [KAFKA] * on_kafka
                    wrong += _both(kind, client, command, transaction_version, sides, kept, chosen)
    raise typer.Exit(1 if wrong else 0)


def _check(what: str, given: Sequence[object] | None, known: Sequence[object]) -> None:
    for choice in given or ():
        if choice not in known:
            Console(stderr=True).print(
                f"conformance: there is no {what} {choice!r}: there are {', '.join(map(str, known))}"
            )
            raise typer.Exit(2)


def _both(
    kind: Kind,
    client: Client,
    command: tuple[Sequence[str], Path],
    version: int,
    sides: Sides,
    kept: Kept,
    chosen: Sequence[str],
) -> int:
    """Return the number of wrong inputs, and of points that differ without a reason."""
    name = f"{client.name}-{version}-{kind.name.replace(' ', '-')}"
    wrong = 0
    for side in chosen:
        target: KafkaTarget | FakeTarget = (sides.kafka if side == KAFKA else sides.ours)[_BOX]
        result = play(kind, target, command, name, version)
        kept.put(side, client.name, version, kind.name, result)
        wrong += _told(f"{side}, {client.name}, version {version}, {kind.name}", result)
    ours, theirs = (kept.get(side, client.name, version, kind.name) for side in (OURS, KAFKA))
    if KAFKA in chosen and ours is not None and theirs is not None:
        for difference in differences(client.name, kind.name, ours, theirs):
            console.print(f"  {difference}")
            wrong += difference.reason is None
    return wrong


def _told(what: str, result: Result) -> int:
    """Print a result; return the number of wrong inputs."""
    if result.broken:
        console.print(f"{what}: broken: {result.broken}")
        return 1
    for outcome in result.wrong:
        console.print(
            f"  {outcome.name}: read_committed sees it {outcome.seen} times, consumed {outcome.consumed} times"
        )
    for when, note in result.notes.items():
        console.print(f"  {when}: {note}")
    met = sum(outcome.met for outcome in result.outcomes)
    more = sum(sum(outcome.written) > sum(outcome.seen) for outcome in result.outcomes)
    errors = sum(len(outcome.errors) for outcome in result.outcomes)
    console.print(
        f"{what}: {met} points, {more} of them leave aborted records, {errors} programs failed, "
        f"{len(result.wrong)} not exactly once; {result.took_s:.0f} s"
    )
    return len(result.wrong)


if __name__ == "__main__":
    try:
        typer.run(run)
    except Unavailable as reason:
        Console(stderr=True).print(f"conformance: {reason}", markup=False, highlight=False)
        sys.exit(3)
