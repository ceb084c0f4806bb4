"""Transactions a second, how soon the next one may begin, and the cost of 10,000 that are open.

    python -m benchmarks transactions [--quick] [--json]

one after the other   producers over raw frames (producers.py), each with one transaction at a time. Each has one
                      record of 100 B in one partition. acks=all, three replicas. The requests are a stock producer's:
                      Produce, EndTxn with version 2 of transactions, and AddPartitionsToTxn, Produce, EndTxn with
                      version 1. All sides take turns; the client is one Python process, the same for all, and takes a
                      processor of its own. `until the next record` is from EndTxn to the response to the next Produce.
open                  the same producer beside 10,000 open transactions, of as many transactional ids. They are in one
                      partition or in 100. And what one of them costs in memory: `ours` has the many, `theirs` is ours
                      with none
over at once          10,000 that time out in the same tick: how long a client waits that only sends ApiVersions
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import timedelta

from benchmarks.peers.brokers import KAFKA, KFAKE, OURS, Broker, fleet, start_ours
from benchmarks.reporting.report import Report, end, missing, options, progress
from benchmarks.reporting.rows import LIMIT, compare
from benchmarks.transactions.producers import (
    TIMEOUT,
    Connections,
    Producer,
    Took,
    connected,
    coordinator_of,
    exchange,
    run,
)
from benchmarks.transactions.requests import Frames
from conformance import frames

TOPIC = "t"
COUNTS = (1, 8, 64)
WARM_S = 0.2
RATE_LIMIT = 5_000.0  # transactions a second that were promised, and so many times kfake's
TIMES_KFAKE, FLAT = 1.5, 0.85
ONE_COORDINATOR = ("--config", "transaction.state.log.num.partitions=1")
MANY_PARTITIONS = 100
SHORT = timedelta(seconds=8)  # for those that are to time out; transactions are looked at every 10 s
QUIET_LIMIT_MS = 50.0


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


class Side:
    """A broker with so many producers."""

    def __init__(self, stack: ExitStack, broker: Broker, name: str, version: int, count: int) -> None:
        self._broker = broker
        (leader,) = broker.create_topic(f"{TOPIC}-{name}")[:1]
        connections = Connections(stack)
        self.producers: list[Producer] = []
        for number in range(count):
            transactional_id = f"{name}-{number:03}"
            address = coordinator_of(broker, transactional_id)
            made = Frames(transactional_id, f"{TOPIC}-{name}", 0, connections.init(address, transactional_id), version)
            self.producers.append(Producer(made, connected(stack, address), connected(stack, leader)))
        self.rates: list[float] = []
        self.cpu_us: list[float] = []
        self.again: list[float] = []
        self.p50_ms: list[float] = []
        self.p99_ms: list[float] = []

    def drive(self, seconds: float) -> Took:
        before = self._broker.cpu_s()
        took = run(self.producers, seconds)
        self.cpu_us.append((self._broker.cpu_s() - before) / took.transactions * 1e6)
        self.rates.append(took.transactions / took.seconds)
        self.again.append(took.again / took.transactions * 1000)
        self.p50_ms.append(quantile(took.until_next, 0.5))
        self.p99_ms.append(quantile(took.until_next, 0.99))
        return took

    def warm_up(self) -> None:
        run(self.producers, WARM_S, is_warm=False)


def measure_rates(report: Report, rounds: int, run_s: float) -> None:
    with fleet((KFAKE, KAFKA)) as started:
        brokers = started.renew()
        for version, count in itertools.product((2, 1), COUNTS):
            with ExitStack() as stack:
                sides: dict[str, Side] = {}
                for name, broker in brokers.items():
                    sides[name] = Side(stack, broker, f"v{version}-{count}", version, count)
                    sides[name].warm_up()
                for _, side in itertools.product(range(rounds), sides.values()):
                    side.drive(run_s)
                _add_rates(report, version, count, sides, started.reasons)
        report.versions = {name: text for name, text in started.versions.items() if name != OURS}


def _add_rates(report: Report, version: int, count: int, sides: dict[str, Side], reasons: dict[str, str]) -> None:
    work = f"version {version}, {count} producer{'s' if count > 1 else ''}"
    ours = sides[OURS]
    report.add(compare(work, LIMIT, "transactions/s", ours.rates, [RATE_LIMIT]))
    for peer in (KFAKE, KAFKA):
        theirs = sides.get(peer)
        note = missing(reasons, peer)
        target = TIMES_KFAKE if peer == KFAKE else None
        for what, unit, pick, promised in (
            ("", "transactions/s", "rates", target),
            (", CPU of the broker", "us CPU", "cpu_us", None),
            (", until the next record: p50", "ms", "p50_ms", None),
            (", until the next record: p99", "ms", "p99_ms", None),
            (", CONCURRENT_TRANSACTIONS", "in 1,000", "again", None),
        ):
            their_samples = [] if theirs is None else getattr(theirs, pick)
            report.add(compare(work + what, peer, unit, getattr(ours, pick), their_samples, promised, note))


def open_transactions(stack: ExitStack, broker: Broker, count: int, partitions: int, timeout: timedelta) -> None:
    """Open so many transactions, each of an id of its own, with a record in one of the partitions in turn."""
    topic = f"open-{partitions}"
    leaders = broker.create_topic(topic, partitions)
    address = coordinator_of(broker, "first")
    connections = Connections(stack)
    for number in range(count):
        transactional_id, partition = f"open-{number:05}", number % partitions
        made = Frames(transactional_id, topic, partition, connections.init(address, transactional_id, timeout), 2)
        answer = connections.raw(leaders[partition], made.produce)
        error = int.from_bytes(answer[made.produced_error_at : made.produced_error_at + 2], "big", signed=True)
        if error:
            raise RuntimeError(f"transaction {number} is answered error {error}")


def measure_open(report: Report, counts: Sequence[int], partitions: int, rounds: int, run_s: float) -> None:
    sides: dict[int, Side] = {}
    kb: dict[int, float] = {}
    with ExitStack() as stack:
        for count in (0, *counts):
            broker = start_ours(*ONE_COORDINATOR)
            stack.callback(broker.stop)
            sides[count] = Side(stack, broker, "one-more", 2, 1)
            sides[count].warm_up()
            before = broker.resident_bytes()
            with ExitStack() as preparing:
                open_transactions(preparing, broker, count, partitions, TIMEOUT)
            kb[count] = (broker.resident_bytes() - before) / max(count, 1) / 1000
        for _, side in itertools.product(range(rounds), sides.values()):
            side.drive(run_s)
    none = sides.pop(0)
    place = "one partition" if partitions == 1 else f"{partitions} partitions"
    for count, side in sides.items():
        work, peer = f"one more beside {count:,} open in {place}", "none"
        report.add(compare(work, peer, "transactions/s", side.rates, none.rates, FLAT))
        report.add(compare(f"{work}, CPU of the broker", peer, "us CPU", side.cpu_us, none.cpu_us))
        report.add(compare(f"{work}, until the next record: p99", peer, "ms", side.p99_ms, none.p99_ms))
        report.add(compare(f"{count:,} open in {place}: memory of one", "-", "KB", [kb[count]], [], note="-"))


def measure_over(report: Report, count: int) -> None:
    """A client asks ApiVersions every 2 ms while they time out."""
    with ExitStack() as stack:
        broker = start_ours(*ONE_COORDINATOR)
        stack.callback(broker.stop)
        began = time.monotonic()
        with ExitStack() as preparing:
            open_transactions(preparing, broker, count, 1, SHORT)
        quiet, request = connected(stack, broker.address), frames.api_versions()
        waits: list[float] = []
        until = time.monotonic() + SHORT.total_seconds() + 12.0
        while time.monotonic() < until:
            sent_at = time.perf_counter()
            exchange(quiet, request)
            waits.append((time.perf_counter() - sent_at) * 1000)
            time.sleep(0.002)
        open_s = time.monotonic() - began
    if open_s > 2 * SHORT.total_seconds() + 30:
        raise RuntimeError(f"the transactions were opened too slowly to be over at once: {open_s:.0f} s")
    work = f"{count:,} time out at once: a quiet client"
    report.add(compare(f"{work}, max", LIMIT, "ms", [max(waits)], [QUIET_LIMIT_MS]))
    report.add(compare(f"{work}, p99", "-", "ms", [quantile(waits, 0.99)], [], note="-"))


def main(argv: list[str]) -> int:
    chosen = options("transactions", __doc__, argv, "shorter runs, 2,000 open transactions")
    rounds, run_s, counts = (3, 0.3, (2_000,)) if chosen.quick else (7, 0.7, (1_000, 10_000))
    report = Report("transactions", driver="Python")
    with progress("transactions", 4) as step:
        step("one after the other")
        measure_rates(report, rounds, run_s)
        for partitions in (1, MANY_PARTITIONS):
            step(f"open in {partitions}")
            measure_open(report, counts, partitions, rounds, run_s)
        step("over at once")
        measure_over(report, counts[-1])
    return end(report, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
