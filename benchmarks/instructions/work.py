"""The fixed work that `benchmarks guard` counts instructions of; run under callgrind, in a process of its own.

Everything is in process and the same on every run: no sockets, no clock, no chance, no garbage collection while it
counts. A call of `os.ctermid()` stands at the beginning and at the end of what is counted: callgrind is told to dump
there.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping

from benchmarks.drivers.frames import answer_bytes, error_at, produce_frame, record_batch
from benchmarks.instructions.coordinated import heartbeat, offset_commit, rebalance, transaction
from conformance import frames
from fakebroker.cluster.cluster import Cluster
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.faults.fault import Fault
from fakebroker.core.journal.journal import Journal
from fakebroker.core.replication.behaviour import INSTANT
from fakebroker.network.effects import Send
from fakebroker.protocol.compression import compress
from fakebroker.protocol.compression.codec import Codec
from fakebroker.protocol.record_batch import RECORD_BATCH_OVERHEAD, pack_batch, read_batch_header
from timingwheel import SystemTimer, TimerTask

MARK = "ctermid"  # the function of the C library that callgrind looks for
START = Now(0, 1_800_000_000_000)
TURN = 32  # requests that come with one read
OPERATIONS = 1_024  # of an idempotent producer: more than are warmed up and counted

Work = Callable[[int], None]  # does so many operations


def produce(
    acks: int,
    value_bytes: int,
    records: int = 1,
    journal: Journal | None = None,
    codec: Codec = Codec.NONE,
    configs: Mapping[str, str] | None = None,
) -> Work:
    cluster = Cluster(START, config=BrokerConfig(), followers=INSTANT, journal=journal)
    cluster.admin.create_topic(NewTopic("t000", 1, 3, {}, dict(configs or {})), START)
    connection = cluster.open_connection(1, "bench", START)
    batch = record_batch(value_bytes, records)
    if codec != Codec.NONE:
        header = read_batch_header(batch)._replace(attributes=codec)
        batch = pack_batch(header, compress(codec, batch[RECORD_BATCH_OVERHEAD:]))
    data = produce_frame("t000", 0, batch, acks) * TURN
    cluster.receive(connection, data, START)
    answers = sent(cluster)
    size, place = answer_bytes("t000"), error_at("t000")
    if [answers[at + place : at + place + 2] for at in range(0, len(answers), size)] != [b"\0\0"] * TURN:
        raise AssertionError("not every request was answered without an error")

    def work(count: int) -> None:
        for _ in range(count // TURN):
            cluster.receive(connection, data, START)
            cluster.take_effects()

    return work


def beside_faults(count: int) -> Work:
    """A produce with acks=1, and so many faults that fit other requests."""
    cluster = Cluster(START, config=BrokerConfig(), followers=INSTANT)
    cluster.admin.create_topic(NewTopic("t000", 1, 3), START)
    for number in range(count):
        others = {"api": "Produce", "topic": "other"}, {"api": "Produce", "topic": "t000", "partition": number + 1}
        more = {"api": "Fetch", "partition": number}, {"api": "OffsetCommit", "group": f"g{number}"}
        cluster.faults.add(Fault((*others, *more)[number % 4], "NOT_LEADER_OR_FOLLOWER" if number % 4 < 3 else 16))
    connection = cluster.open_connection(1, "bench", START)
    data = produce_frame("t000", 0, record_batch(100, 1), 1) * TURN
    cluster.receive(connection, data, START)
    if len(sent(cluster)) != answer_bytes("t000") * TURN:
        raise AssertionError("not every request was answered")

    def work(count: int) -> None:
        for _ in range(count // TURN):
            cluster.receive(connection, data, START)
            cluster.take_effects()

    return work


def idempotent(acks: int, value_bytes: int) -> Work:
    """Return the work of an idempotent producer: each batch continues the one before."""
    cluster = Cluster(START, config=BrokerConfig(), followers=INSTANT)
    cluster.admin.create_topic(NewTopic("t000", 1, 3), START)
    connection = cluster.open_connection(1, "bench", START)
    frames = [produce_frame("t000", 0, record_batch(value_bytes, 1, number), acks) for number in range(OPERATIONS)]
    turns = iter([b"".join(frames[at : at + TURN]) for at in range(0, OPERATIONS, TURN)])
    cluster.receive(connection, next(turns), START)
    size, place = answer_bytes("t000"), error_at("t000")
    answers = sent(cluster)
    if [answers[at + place : at + place + 2] for at in range(0, len(answers), size)] != [b"\0\0"] * TURN:
        raise AssertionError("not every request was answered without an error")

    def work(count: int) -> None:
        for _ in range(count // TURN):
            cluster.receive(connection, next(turns), START)
            cluster.take_effects()

    return work


def sent(cluster: Cluster) -> bytes:
    """All answers since the last look."""
    return b"".join(effect.data for effect in cluster.take_effects() if isinstance(effect, Send))


def fetch() -> Work:
    """A consumer that reads a batch of 1 KiB."""
    cluster = Cluster(START, config=BrokerConfig(), followers=INSTANT)
    cluster.admin.create_topic(NewTopic("t000", 1, 3), START)
    connection = cluster.open_connection(1, "bench", START)
    cluster.receive(connection, produce_frame("t000", 0, record_batch(1024), acks=-1), START)
    cluster.take_effects()
    data = frames.fetch("t000") * TURN
    cluster.receive(connection, data, START)
    if sent(cluster).count(record_batch(1024)[-1024:]) != TURN:
        raise AssertionError("not every answer has the record")

    def work(count: int) -> None:
        for _ in range(count // TURN):
            cluster.receive(connection, data, START)
            cluster.take_effects()

    return work


def timer() -> Work:
    """Add and cancel, beside 1,000 timers that stay."""

    class Task(TimerTask):
        __slots__ = ()

    system_timer = SystemTimer(0)
    for number in range(1_000):
        system_timer.add(Task(10_000 + number * 37), 0)
    tasks = [Task(30_000 + number) for number in range(TURN)]

    def work(count: int) -> None:
        for _ in range(count // TURN):
            for task in tasks:
                system_timer.add(task, 0)
            for task in tasks:
                task.cancel()

    return work


def plain_python() -> Work:
    """Return work without fakebroker: it shows whether this is the Python that the recorded counts are of."""

    def work(count: int) -> None:
        buckets: dict[int, list[int]] = {}
        for number in range(count):
            buckets.setdefault(number % 100, []).append(number * 3)
            if len(buckets[number % 100]) > 10:
                buckets[number % 100] = sorted(buckets[number % 100], reverse=True)[:5]

    return work


PLAIN, FAULTS = "produce 100 B, acks=1", "produce 100 B, acks=1, 1,000 faults of others"
# What may cost at most so much more than something else, in the same run.
BESIDE = {FAULTS: (PLAIN, 1.05)}
# By name: how to prepare it, and how many operations are counted.
WORKS: dict[str, tuple[Callable[[], Work], int]] = {
    "plain Python": (plain_python, 6_400),
    "produce 100 B, acks=-1": (lambda: produce(-1, 100), 640),
    PLAIN: (lambda: produce(1, 100), 640),
    "produce 100 B, idempotent": (lambda: idempotent(-1, 100), 640),
    "produce 16 KiB, acks=-1": (lambda: produce(-1, 16 * 1024), 320),
    "produce 100 records of 100 B, acks=-1": (lambda: produce(-1, 100, 100), 128),
    "produce 100 records of 100 B, lz4": (lambda: produce(-1, 100, 100, codec=Codec.LZ4), 128),
    "produce 100 B, LogAppendTime": (
        lambda: produce(-1, 100, configs={"message.timestamp.type": "LogAppendTime"}),
        320,
    ),
    "produce 100 B, with a journal": (lambda: produce(-1, 100, journal=Journal()), 640),
    FAULTS: (lambda: beside_faults(1_000), 640),
    "fetch 1 KiB": (fetch, 640),
    "timer add and cancel": (timer, 6_400),
    "heartbeat": (heartbeat, 640),
    "offset commit": (offset_commit, 320),
    "join and sync of one member": (rebalance, 128),
    "transaction, version 2": (lambda: transaction(2), 128),
    "transaction, version 1": (lambda: transaction(1), 128),
}


def main() -> None:
    prepared = []
    for prepare, count in WORKS.values():
        work = prepare()
        work(4 * TURN)  # caches, and the specialising interpreter
        prepared.append((work, count))
    gc.collect()
    gc.disable()
    for work, count in prepared:
        os.ctermid()
        work(count)
        os.ctermid()


if __name__ == "__main__":
    main()
