"""`python -m conformance.clients.exactly_once`: is it exactly once, with each client that has transactions?

Once for each version of transactions; programs die at every point, then brokers go at every request. `--kafka` lets
them die on Apache Kafka too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from conformance.clients.builds import CLIENTS, Client, NotRun, build, started
from conformance.clients.exactly_once.brokers import CONFIG, strikes
from conformance.clients.exactly_once.chain import Chain, Outcome
from conformance.clients.exactly_once.points import POINTS
from conformance.clients.exactly_once.proxy import Proxy
from conformance.clients.process import Broken
from conformance.clients.wire import Wire, check
from conformance.scenario import Topic
from conformance.suite import Sides
from conformance.targets.kafka_box import Unavailable, cache_folder
from fakebroker import FakeCluster

NAMES = ("kafka-clients", "franz-go", "librdkafka", "aiokafka", "kafka-python")
VERSIONS = (2, 1)  # of transactions
_UPDATE_FEATURES, _ANY_DOWNGRADE = 57, 3

console = Console(highlight=False, markup=False, soft_wrap=True)


def run(
    names: Annotated[list[str] | None, typer.Argument(help="Clients; all if none is named.")] = None,
    kafka: Annotated[bool, typer.Option("--kafka", help="Programs die on Apache Kafka too.")] = False,
) -> None:
    """Run the clients, and print a line for each, and for each input whose effect is not there once."""
    for name in names or ():
        if name not in NAMES:
            Console(stderr=True).print(f"conformance: no client is called {name!r}: there are {', '.join(NAMES)}")
            raise typer.Exit(2)
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
        for version in VERSIONS:
            wrong += _ours(client, command, version)
            if kafka:
                wrong += _kafka(client, command, version)
    raise typer.Exit(1 if wrong else 0)


def _ours(client: Client, command: tuple[Sequence[str], Path], version: int) -> int:
    def crash(chain: Chain, cluster: FakeCluster) -> list[Outcome]:
        return chain.crash(POINTS)

    def strike(chain: Chain, cluster: FakeCluster) -> list[Outcome]:
        return chain.strike(list(strikes(cluster, chain.outputs)))

    wrong = 0
    for what, act in (("programs die", crash), ("brokers go", strike)):
        with FakeCluster(brokers=3, config=CONFIG) as cluster, Proxy(cluster.bootstrap_servers) as proxy:
            set_version(cluster.bootstrap_servers, version)
            chain = Chain(command, proxy, client.name)
            for topic, partitions in chain.topics.items():
                cluster.create_topic(topic, partitions, configs={"retention.ms": -1})
            wrong += _told(f"fakebroker, {client.name}, version {version}, {what}", lambda: act(chain, cluster))  # noqa: B023
    return wrong


def _kafka(client: Client, command: tuple[Sequence[str], Path], version: int) -> int:
    with Sides() as sides:
        target = sides.kafka["clients"]
        set_version(target.bootstrap_servers, version)
        for broker in (1, 2, 3):
            target.catch_up(broker)
        with Proxy(target.bootstrap_servers) as proxy:
            chain = Chain(command, proxy, client.name)
            target.create_topics(
                [Topic(topic, partitions, 3, {"retention.ms": "-1"}) for topic, partitions in chain.topics.items()]
            )
            return _told(f"Apache Kafka, {client.name}, version {version}, programs die", lambda: chain.crash(POINTS))


def _told(what: str, act: Callable[[], list[Outcome]]) -> int:
    """How many inputs went wrong."""
    began = time.monotonic()
    try:
        outcomes = act()
    except (Broken, RuntimeError, TimeoutError) as how:
        console.print(f"{what}: broken: {how}")
        return 1
    wrong = [each for each in outcomes if not each.is_right]
    for each in wrong:
        console.print(f"  {each.name}: read_committed sees it {each.seen} times, consumed {each.consumed} times")
    met = sum(each.met for each in outcomes)
    more = sum(sum(each.written) > sum(each.seen) for each in outcomes)
    took_s = time.monotonic() - began
    console.print(
        f"{what}: {met} places, {more} of them leave aborted records, {len(wrong)} not exactly once; {took_s:.0f} s"
    )
    return len(wrong)


def set_version(bootstrap_servers: str, version: int) -> None:
    """Of transactions (the feature transaction.version). Raises RuntimeError."""
    update = {"feature": "transaction.version", "max_version_level": version, "upgrade_type": _ANY_DOWNGRADE}
    with Wire(bootstrap_servers) as wire:
        values = {"timeout": timedelta(seconds=10), "feature_updates": [update], "validate_only": False}
        answer = wire.ask(bootstrap_servers.split(",")[0], _UPDATE_FEATURES, 1, values)
        check(answer.error_code, f"transaction.version={version}")
        for result in answer.results:
            check(result.error_code, f"transaction.version={version}")


if __name__ == "__main__":
    try:
        typer.run(run)
    except Unavailable as reason:
        Console(stderr=True).print(f"conformance: {reason}", markup=False, highlight=False)
        sys.exit(3)
