"""`python -m conformance.clients`: run every client against Apache Kafka and fakebroker, and compare."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from conformance.clients.builds import CLIENTS, Client
from conformance.clients.reports import ClientReport, compare, rows
from conformance.clients.runs import run_clients
from conformance.suite import Sides
from conformance.targets.kafka_box import Unavailable, cache_folder
from conformance.targets.target import FakeTarget, KafkaTarget

console = Console(highlight=False, markup=False, soft_wrap=True)


def run(
    names: Annotated[list[str] | None, typer.Argument(help="The names of clients; all by default.")] = None,
) -> None:
    """Run the clients against both sides, and print a line for each job that differs or is unsupported."""
    known = [client.name for client in CLIENTS]
    for name in names or ():
        if name not in known:
            Console(stderr=True).print(f"conformance: no client is called {name!r}; the clients are {', '.join(known)}")
            raise typer.Exit(2)
    chosen = [client for client in CLIENTS if not names or client.name in names]
    with Sides() as sides:
        kafka = _run("Apache Kafka", sides.kafka["clients"], chosen)
        ours = _run("fakebroker", sides.ours["clients"], chosen)
    for row in rows(kafka, ours):
        if row["outcome"] != "same":
            console.print(f"{row['outcome']:12} {row['client']} {row['version']} {row['job']}: {row['why']}")
    unexplained = [difference for difference in compare(kafka, ours) if difference.reason is None]
    jobs = sum(len(report.jobs) for report in kafka.values())
    console.print(f"{len(chosen)} clients, {jobs} jobs, {len(unexplained)} differences without a reason")
    raise typer.Exit(1 if unexplained else 0)


def _run(side: str, target: KafkaTarget | FakeTarget, clients: Sequence[Client]) -> dict[str, ClientReport]:
    started = time.monotonic()
    reports = run_clients(target, cache_folder(), clients=clients)
    console.print(f"{side} {target.version}: {time.monotonic() - started:.1f} s")
    return reports


if __name__ == "__main__":
    try:
        typer.run(run)
    except Unavailable as reason:
        Console(stderr=True).print(f"conformance: {reason}", markup=False, highlight=False)
        sys.exit(3)
