"""Produce requests at 100 B to 1 MiB, beside librdkafka's mock, kfake and Apache Kafka, with the same driver.

    python -m benchmarks produce [--quick] [--json]

Every side has three brokers in a process of its own (Apache Kafka: one each) and gets the same pre-encoded frames. The
driver counts the responses and looks for error codes in them. All sides take turns. Every line of work has fresh
processes and a fresh topic, except that Apache Kafka's processes stay. Our followers are instant; Kafka's really fetch;
the mocks have none and answer acks=-1 like acks=1. librdkafka's mock does not check CRCs and keeps 5 MiB of a
partition. The others keep all (fakebroker: 256 MiB in all).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

from benchmarks.drivers.driver import Address, DriverError, Effort, Target, command, drive, settle
from benchmarks.drivers.frames import MIB, error_at, produce_frame, record_batch
from benchmarks.peers.brokers import KAFKA, KFAKE, MOCK, MOCK_PARTITIONS, OURS, Broker, Fleet, fleet
from benchmarks.reporting.report import Report, end, missing, options, progress
from benchmarks.reporting.rows import Row, compare

RUN_BYTES = 128 * MIB  # no measurement sends more, so that nobody's memory or disk fills
SIZES = {"100 B": 100, "1 KiB": 1024, "16 KiB": 16 * 1024, "1 MiB": MIB}
FAST = {MOCK: 1.2, KFAKE: 2.0, KAFKA: 3.0}
LARGE = {MOCK: 1.0, KFAKE: 2.0}
QUICK = ("100 B", "1 KiB", "16 KiB", "1 MiB", "100 B, one in flight", "100 B, 8 connections", "100 B, acks=1")


class Work(NamedTuple):
    name: str
    value_bytes: int
    records: int = 1
    connections: int = 1
    window: int = 64
    acks: int = -1
    replication: int = 3
    topics: int = 0  # 0: one topic with one partition; else so many with 4
    targets: dict[str, float] = {}  # noqa: RUF012  (never changed)


def works() -> list[Work]:
    """One thing is varied at a time; unless the name says otherwise: one connection, pipelined, acks=-1, RF 3."""
    work_list = []
    for size, value_bytes in SIZES.items():
        window = 8 if value_bytes >= MIB else 64
        targets = FAST if value_bytes <= 1024 else LARGE
        work_list += [
            Work(size, value_bytes, window=window, targets=targets),
            Work(f"{size}, 8 connections", value_bytes, connections=8, window=window),
            Work(f"{size}, acks=1", value_bytes, window=window, acks=1),
            Work(f"{size}, one in flight", value_bytes, window=1, targets={KFAKE: 1.0}),
        ]
    return [
        *work_list,
        Work("100 B, one in flight, 8 connections", 100, window=1, connections=8),
        Work("100 B, RF 1", 100, replication=1),
        Work("1 KiB, RF 1", 1024, replication=1),
        Work("100 B, 1,000 partitions", 100, topics=250),
        Work("1 KiB, 1,000 partitions", 1024, topics=250),
        Work("160 records of 100 B", 100, records=160),
    ]


def targets_on(broker: Broker, work: Work, prefix: str) -> tuple[list[Target], list[str]]:
    """Make the topics; what to send where, and the topics' names. All names are of one length, so are the frames."""
    batch = record_batch(work.value_bytes, work.records)
    partitions = MOCK_PARTITIONS if work.topics else 1
    by_leader: dict[Address, list[bytes]] = {}
    names = [f"{prefix}-{number:03}" for number in range(work.topics or 1)]
    for name, leaders in broker.create_topics(names, partitions, work.replication).items():
        for partition in range(partitions):
            frame = produce_frame(name, partition, batch, work.acks)
            by_leader.setdefault(leaders[partition], []).append(frame)
    return [Target(address, frames, work.connections) for address, frames in by_leader.items()], names


def measure(
    fleet: Fleet, work: Work, prefix: str, rounds: int, run_ms: int
) -> tuple[dict[str, list[dict[str, float]]], dict[str, str]]:
    """Samples by broker, taking turns, and why a broker has none."""
    brokers = fleet.renew()
    reasons = dict(fleet.reasons)
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in brokers}
    prepared = {name: targets_on(broker, work, prefix) for name, broker in brokers.items()}
    most = max(16, RUN_BYTES // (work.value_bytes * work.records))
    for number, name in product(range(rounds + 1), brokers):
        if name in reasons:
            continue
        targets, topics = prepared[name]
        try:
            if number == 0:  # not measured: processes warm up, the JVM more than others
                effort = Effort(0, run_ms * (4 if name == KAFKA else 1), most)
                settle(targets, work.window, effort, error_at(topics[0]))
                continue
            cpu_s = brokers[name].cpu_s()
            result = drive(targets, work.window, Effort(50, run_ms, most), error_at(topics[0]))
            result["broker_cpu_s"] = brokers[name].cpu_s() - cpu_s
        except DriverError as error:
            if name == OURS:
                raise
            reasons[name] = str(error)
            samples[name].clear()
            continue
        samples[name].append(result)
    for name, (_, topics) in prepared.items():
        brokers[name].delete_topics(topics)
    return samples, reasons


def rows(
    work: Work, samples: dict[str, list[dict[str, float]]], reasons: dict[str, str], peers: tuple[str, ...]
) -> Iterator[Row]:
    """Pipelined work gives requests/s and what a request costs the broker's processes; work with one in flight gives
    the quantiles of a round trip. Other programs on the machine hardly change CPU time."""
    units: list[tuple[str, str, Callable[[dict[str, float]], float]]]
    if work.window > 1:
        units = [
            ("", "requests/s", lambda one: one["answers"] / one["seconds"]),
            (", CPU of the broker", "us CPU", lambda one: one["broker_cpu_s"] / one["all_answers"] * 1e6),
        ]
    else:
        units = [(", p50", "us", lambda one: one["p50_ms"] * 1000), (", p99", "us", lambda one: one["p99_ms"] * 1000)]
    for position, (suffix, unit, read) in enumerate(units):
        ours = [read(one) for one in samples[OURS]]
        size = samples[OURS][0]["frame_bytes"] if unit == "requests/s" else 0
        for peer in peers:
            theirs = [read(one) for one in samples.get(peer, [])]
            target = work.targets.get(peer) if position == 0 else None
            yield compare(work.name + suffix, peer, unit, ours, theirs, target, missing(reasons, peer), size)


def main(argv: list[str]) -> int:
    chosen = options("produce", __doc__, argv, "fewer lines of work, shorter runs, rougher figures")
    report = Report("produce", driver=command()[1])
    todo = [work for work in works() if not chosen.quick or work.name in QUICK]
    rounds, run_ms = (3, 200) if chosen.quick else (5, 500)
    with fleet() as started, progress("produce", len(todo)) as step:
        for index, work in enumerate(todo):
            step(work.name)
            samples, reasons = measure(started, work, f"w{index:02}", rounds, run_ms)
            for row in rows(work, samples, reasons, started.names[1:]):
                report.add(row)
        report.versions = {name: text for name, text in started.versions.items() if name != OURS}
    return end(report, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
