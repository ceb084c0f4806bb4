"""Fetch requests for batches of 100 B to 1 MiB, beside librdkafka's mock, kfake and Apache Kafka, with the same driver.

    python -m benchmarks consume [--quick] [--json]

A partition has one batch, and every Fetch (v11, outside of sessions, max.wait 0) is answered with it: the driver sends
the same frame again and again and reads all answers. Sides, turns and processes are as for `produce`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

from benchmarks.drivers.driver import DriverError, Effort, Target, command, drive, settle
from benchmarks.drivers.frames import CLIENT_ID, MIB, PRODUCE_VERSION, produce_frame, record_batch
from benchmarks.peers.brokers import KAFKA, KFAKE, MOCK, MOCK_PARTITIONS, OURS, Broker, Fleet, ask, fleet
from benchmarks.reporting.report import Report, end, missing, options, progress
from benchmarks.reporting.rows import Row, compare
from fakebroker.protocol.messages import request_frame
from fakebroker.protocol.sent import requests

FETCH, FETCH_VERSION = 1, 11  # the newest version that every peer speaks
ERROR_AT = 12  # of the whole answer: behind its length, the correlation id and the throttle time
RUN_BYTES = 4096 * MIB
SIZES = {"100 B": 100, "1 KiB": 1024, "16 KiB": 16 * 1024, "1 MiB": MIB}
TARGETS = {MOCK: 1.5, KFAKE: 1.5}
QUICK = tuple(SIZES)


class Work(NamedTuple):
    name: str
    value_bytes: int
    connections: int = 1
    window: int = 64
    targets: dict[str, float] = {}  # noqa: RUF012  (never changed)


def works() -> list[Work]:
    work_list = []
    for size, value_bytes in SIZES.items():
        window = 8 if value_bytes >= MIB else 64
        work_list += [
            Work(size, value_bytes, window=window, targets=TARGETS),
            Work(f"{size}, 8 connections", value_bytes, 8, window),
            Work(f"{size}, one in flight", value_bytes, window=1, targets={KFAKE: 1.0}),
        ]
    return work_list


def fetch_frame(topic: str) -> bytes:
    values = requests.fetch(topic, 0, 0, max_bytes=4 * MIB, partition_max_bytes=2 * MIB)
    return request_frame(FETCH, FETCH_VERSION, values, 1, CLIENT_ID)


def target_on(broker: Broker, work: Work, topic: str) -> Target:
    """Create a topic with its batch and return the leader to fetch from. Raises RuntimeError if a fetch returns another
    batch."""
    batch = record_batch(work.value_bytes)
    leader = broker.create_topic(topic, MOCK_PARTITIONS if broker.name == MOCK else 1)[0]
    answer = ask(leader, 0, PRODUCE_VERSION, produce_frame(topic, 0, batch, acks=-1))
    [produced] = answer.responses[0].partition_responses
    if produced.error_code:
        raise RuntimeError(f"{broker.name} does not take the batch: {produced.error_code!r}")
    frame = fetch_frame(topic)
    [read] = ask(leader, FETCH, FETCH_VERSION, frame).responses[0].partitions
    if read.error_code or len(read.records or b"") != len(batch):
        raise RuntimeError(f"{broker.name} gives {len(read.records or b'')} bytes, not the batch of {len(batch)}")
    return Target(leader, [frame], work.connections)


def measure(
    fleet: Fleet, work: Work, topic: str, rounds: int, run_ms: int
) -> tuple[dict[str, list[dict[str, float]]], dict[str, str]]:
    """Samples by broker, taking turns, and why a broker has none."""
    brokers = fleet.renew()
    reasons = dict(fleet.reasons)
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in brokers}
    prepared: dict[str, Target] = {}
    most = max(16, RUN_BYTES // work.value_bytes)
    for number, name in product(range(rounds + 1), brokers):
        if name in reasons:
            continue
        try:
            if number == 0:  # not measured: processes warm up, the JVM more than others
                prepared[name] = target_on(brokers[name], work, topic)
                effort = Effort(0, run_ms * (4 if name == KAFKA else 1), most)
                settle([prepared[name]], work.window, effort, ERROR_AT)
                continue
            cpu_s = brokers[name].cpu_s()
            result = drive([prepared[name]], work.window, Effort(50, run_ms, most), ERROR_AT)
            result["broker_cpu_s"] = brokers[name].cpu_s() - cpu_s
        except (DriverError, RuntimeError) as error:
            if name == OURS:
                raise
            reasons[name] = str(error)
            samples[name].clear()
            continue
        samples[name].append(result)
    for broker in brokers.values():
        broker.delete_topics([topic])
    return samples, reasons


def rows(
    work: Work, samples: dict[str, list[dict[str, float]]], reasons: dict[str, str], peers: tuple[str, ...]
) -> Iterator[Row]:
    """Return rows as in `produce`: requests/s and CPU time for pipelined work, else the quantiles of a round trip."""
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
        for peer in peers:
            theirs = [read(one) for one in samples.get(peer, [])]
            target = work.targets.get(peer) if position == 0 else None
            yield compare(work.name + suffix, peer, unit, ours, theirs, target, missing(reasons, peer), 0)


def main(argv: list[str]) -> int:
    chosen = options("consume", __doc__, argv, "fewer lines of work, shorter runs, rougher figures")
    report = Report("consume", driver=command()[1])
    todo = [work for work in works() if not chosen.quick or work.name in QUICK]
    rounds, run_ms = (3, 200) if chosen.quick else (5, 500)
    with fleet() as started, progress("consume", len(todo)) as step:
        for index, work in enumerate(todo):
            step(work.name)
            samples, reasons = measure(started, work, f"c{index:02}", rounds, run_ms)
            for row in rows(work, samples, reasons, started.names[1:]):
                report.add(row)
        report.versions = {name: text for name, text in started.versions.items() if name != OURS}
    return end(report, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
