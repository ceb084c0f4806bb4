"""The cost of a produce request beside many other things: partitions, idle connections, parked requests.

    python -m benchmarks scale [--quick] [--json]

The same work, 100 B, acks=-1, pipelined over one connection, beside the least of each: `ours` is requests/s with many,
`theirs` with few, both on us and taking turns.

partitions    1 to 1,000 partitions led by one broker, RF 3, written in turn
connections   10 to 5,000 idle connections beside the one that works
parked        0 to 10,000 acks=all requests that wait on a frozen partition, beside work on a topic without followers
"""

from __future__ import annotations

import itertools
import socket
import sys
import time
from contextlib import ExitStack

from benchmarks.drivers.driver import Address, Effort, Target, command, drive
from benchmarks.drivers.frames import PRODUCE_VERSION, error_at, produce_frame, record_batch
from benchmarks.parked import SPARE_FILES, allow_files
from benchmarks.peers.brokers import BROKERS, Broker, ask, start_ours
from benchmarks.reporting.report import Report, end, options, progress
from benchmarks.reporting.rows import compare

TOPIC = "t000"
PARTITIONS = (1, 10, 100, 1_000)
CONNECTIONS = (10, 1_000, 5_000)
PARKED = (0, 1_000, 10_000)
TARGET = 0.85  # at most 15 % slower
WINDOW = 64
HOUR_MS = 3_600_000
FROZEN = ("--followers", "frozen", "--config", f"replica.lag.time.max.ms={HOUR_MS}")


class Side:
    """A broker under one circumstance, and what it answered."""

    def __init__(self, broker: Broker, targets: list[Target]) -> None:
        self.broker = broker
        self.targets = targets
        self.rates: list[float] = []
        self.cpu_us: list[float] = []

    def drive(self, effort: Effort) -> None:
        cpu_s = self.broker.cpu_s()
        result = drive(self.targets, WINDOW, effort, error_at(TOPIC))
        self.rates.append(result["answers"] / result["seconds"])
        self.cpu_us.append((self.broker.cpu_s() - cpu_s) / result["all_answers"] * 1e6)


def with_partitions(stack: ExitStack, count: int) -> Side:
    broker = start_ours()
    stack.callback(broker.stop)
    leaders = broker.create_topic(TOPIC, count * BROKERS)
    batch = record_batch(100)
    mine = [partition for partition, leader in enumerate(leaders) if leader == leaders[0]]
    assert len(mine) == count, f"{len(mine)} partitions of {len(leaders)} are led by one broker"
    frames = [produce_frame(TOPIC, partition, batch, acks=-1) for partition in mine]
    return Side(broker, [Target(leaders[0], frames)])


def with_connections(stack: ExitStack, count: int) -> Side:
    broker = start_ours()
    stack.callback(broker.stop)
    leader = broker.create_topic(TOPIC)[0]
    connect(stack, leader, count)
    return Side(broker, [Target(leader, [produce_frame(TOPIC, 0, record_batch(100), acks=-1)])])


def with_parked(stack: ExitStack, count: int) -> Side:
    broker = start_ours(*FROZEN)
    stack.callback(broker.stop)
    leader = broker.create_topic("frozen")[0]
    frame = produce_frame("frozen", 0, record_batch(100), acks=-1, timeout_ms=HOUR_MS)
    for connection in connect(stack, leader, count):
        connection.sendall(frame)
    address = broker.create_topic(TOPIC, replication=1)[0]
    await_records(leader, count)
    return Side(broker, [Target(address, [produce_frame(TOPIC, 0, record_batch(100), acks=-1)])])


def await_records(address: Address, count: int) -> None:
    """Return when that many records are in the log of the frozen partition. Its watermark does not tell: the place of
    a further record, with acks=1, does."""
    until = time.monotonic() + 60
    for probes in itertools.count():
        answer = ask(address, 0, PRODUCE_VERSION, produce_frame("frozen", 0, record_batch(1), acks=1))
        if answer.responses[0].partition_responses[0].base_offset - probes >= count:
            return
        assert time.monotonic() < until, "the requests were not parked within a minute"
        time.sleep(0.05)


def connect(stack: ExitStack, address: Address, count: int) -> list[socket.socket]:
    return [stack.enter_context(socket.create_connection(address)) for _ in range(count)]


def main(argv: list[str]) -> int:
    chosen = options("scale", __doc__, argv, "the least and the most only, shorter runs")
    rounds, run_ms = (3, 200) if chosen.quick else (7, 700)
    allow_files(2 * max(PARKED) + SPARE_FILES)
    report = Report("scale", driver=command()[1])
    effort = Effort(50, run_ms, 1_000_000)
    series = {
        "partitions": (with_partitions, PARTITIONS),
        "idle connections": (with_connections, CONNECTIONS),
        "parked requests": (with_parked, PARKED),
    }
    with progress("scale", len(series)) as step:
        for what, (prepare, counts) in series.items():
            step(what)
            few, *more = (counts[0], counts[-1]) if chosen.quick else counts
            with ExitStack() as stack:
                sides = {count: prepare(stack, count) for count in (few, *more)}
                for _, side in itertools.product(range(rounds), sides.values()):
                    side.drive(effort)
            base = sides[few]
            target = None if what == "parked requests" else TARGET
            for count in more:
                side = sides[count]
                peer = f"{few:,} {what}"
                work = f"{count:,} {what}"
                report.add(compare(work, peer, "requests/s", side.rates, base.rates, target))
                report.add(compare(f"{work}, CPU of the broker", peer, "us CPU", side.cpu_us, base.cpu_us))
    return end(report, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
