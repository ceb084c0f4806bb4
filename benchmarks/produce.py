"""Small Produce requests over one connection: this broker against librdkafka's mock cluster, in one run.

Both are driven by the same client: pre-encoded frames on a blocking socket, answers counted by their size. Brokers and
client share the machine, so only the ratios mean something. The two alternate, and the median of the rounds is told.

    ours     three brokers, replication factor 3, instant followers: acks=all goes through followers and watermark
    theirs   librdkafka's mock with three brokers: acks=all is answered like acks=1, CRCs are not checked
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

from confluent_kafka import Producer
from rich.console import Console
from rich.table import Table

from fakebroker import FakeCluster
from fakebroker.protocol.build import build
from fakebroker.protocol.messages import encode_request, request_type
from fakebroker.protocol.record_batch import Record, encode_batch

TOPIC = "bench"
VERSION = 7  # the newest that both speak
WINDOW = 64  # requests in flight when pipelined
Address = tuple[str, int]


def produce_frame(value_bytes: int, acks: int) -> bytes:
    batch = encode_batch([Record(None, b"x" * value_bytes)], base_timestamp_ms=1_700_000_000_000)
    values = {
        "transactional_id": None,
        "acks": acks,
        "timeout": timedelta(seconds=30),
        "topic_data": [{"name": TOPIC, "partition_data": [{"index": 0, "records": batch}]}],
    }
    return encode_request(build(request_type(0, VERSION), values), 1, "bench")


class Driver:
    """One connection that sends the same frame again and again."""

    def __init__(self, address: Address, frame: bytes) -> None:
        self._socket = socket.create_connection(address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._frame = frame
        self._buffer = bytearray(1 << 20)
        self._socket.sendall(frame)
        (size,) = struct.unpack(">i", self._socket.recv(4, socket.MSG_WAITALL))
        answer = self._socket.recv(size, socket.MSG_WAITALL)
        (error,) = struct.unpack_from(">h", answer, 4 + 4 + 2 + len(TOPIC) + 4 + 4)
        if error:
            raise RuntimeError(f"the broker answers error {error}")
        self._answer_size = 4 + size

    def pipelined(self, requests: int) -> float:
        """Requests per second with WINDOW in flight."""
        started = time.perf_counter()
        self._socket.sendall(self._frame * WINDOW)
        sent, received_bytes = WINDOW, 0
        answered = 0
        while answered < sent:
            received_bytes += self._socket.recv_into(self._buffer)
            new = received_bytes // self._answer_size - answered
            answered += new
            more = min(new, requests - sent)
            if more > 0:
                self._socket.sendall(self._frame * more)
                sent += more
        return answered / (time.perf_counter() - started)

    def one_in_flight(self, requests: int) -> float:
        """Median round trip in microseconds."""
        times = []
        for _ in range(requests):
            started = time.perf_counter_ns()
            self._socket.sendall(self._frame)
            self._socket.recv(self._answer_size, socket.MSG_WAITALL)
            times.append(time.perf_counter_ns() - started)
        return median(times) / 1000

    def close(self) -> None:
        self._socket.close()


def _serve(pipe: Connection) -> None:
    with FakeCluster(journal=0) as kafka:
        kafka.create_topic(TOPIC, partitions=1, replication_factor=3)
        leader = kafka.endpoints[0]
        pipe.send((leader.host, leader.port))
        pipe.recv()


@contextmanager
def ours() -> Iterator[Address]:
    """Our cluster in a process of its own."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(there,), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        here.send(None)
        process.join(10)


@contextmanager
def librdkafka_mock() -> Iterator[Address]:
    """The mock cluster that lives in a producer's threads, outside the interpreter's lock."""
    producer = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 3, "log_level": 0})
    metadata = producer.list_topics(TOPIC, timeout=10)
    broker = metadata.brokers[metadata.topics[TOPIC].partitions[0].leader]
    yield broker.host, broker.port
    producer.flush(1)


WORKS: list[tuple[str, int, int, str, Callable[[Driver, int], float]]] = [
    ("acks=all 100 B, 64 in flight", 100, -1, "requests/s", Driver.pipelined),
    ("acks=1 100 B, 64 in flight", 100, 1, "requests/s", Driver.pipelined),
    ("acks=all 1 KiB, 64 in flight", 1024, -1, "requests/s", Driver.pipelined),
    ("acks=all 100 B, 1 in flight, p50", 100, -1, "us", Driver.one_in_flight),
]


def measure(quick: bool) -> list[dict[str, Any]]:
    rounds, requests = (3, 4_000) if quick else (7, 20_000)
    rows = []
    with ours() as our_address, librdkafka_mock() as their_address:
        for work, value_bytes, acks, unit, run in WORKS:
            drivers = [Driver(address, produce_frame(value_bytes, acks)) for address in (our_address, their_address)]
            count = requests if unit == "requests/s" else requests // 10
            results = [[run(driver, count) for driver in drivers] for _ in range(rounds)]
            for driver in drivers:
                driver.close()
            mine, theirs = (median(column) for column in zip(*results, strict=True))
            ratio = mine / theirs if unit == "requests/s" else theirs / mine
            rows.append(
                {"work": work, "peer": "librdkafka mock", "ours": round(mine), "theirs": round(theirs), "unit": unit}
                | {"ratio": round(ratio, 2)}
            )
    return rows


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks produce", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="shorter runs, rougher figures")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    options = parser.parse_args(argv)
    rows = measure(options.quick)
    if options.json:
        print(json.dumps({"name": "produce", "rows": rows}))
        return 0
    table = Table(title="produce: medians of one run; a ratio above 1 means that we are faster")
    for column in ("work", "peer", "ours", "theirs", "unit", "ratio"):
        table.add_column(column, justify="left" if column in ("work", "peer", "unit") else "right")
    for row in rows:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
    Console().print(table)
    return 0
