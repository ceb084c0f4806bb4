"""Latency from produce to consume: how long after its send a record is with a consumer that waits for it.

    python -m benchmarks latency [--quick] [--json]

One producer connection sends records of 100 B one at a time, with acks=1 and acks=all, to three replicas. The Fetch of
one consumer connection is parked (min.bytes 1, max.wait 500 ms). The time is from before the write of the Produce to
after the read of the Fetch response. Both are in one Python process that is the same for all; all sides take turns.
Apache Kafka's followers fetch over the network for acks=all, and its consumers see a record when they have.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from itertools import product
from typing import Any

from benchmarks.drivers.driver import Address
from benchmarks.drivers.frames import CLIENT_ID, produce_frame, record_batch
from benchmarks.peers.brokers import KFAKE, OURS, Broker, fleet
from benchmarks.reporting.report import Report, end, missing, options, progress
from benchmarks.reporting.rows import Row, compare
from fakebroker.protocol.messages import decode_response, request_frame
from fakebroker.protocol.sent import requests

ACKS = {1: "acks=1", -1: "acks=all"}
FETCH, FETCH_VERSION = 1, 11
PARKED_S = 0.002  # until a Fetch that was sent is parked
TARGETS = {KFAKE: 1.0}
WARM_UP = 50


class Client:
    """One connection, one request at a time."""

    def __init__(self, address: Address) -> None:
        self._socket = socket.create_connection(address, timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = bytearray()

    def send(self, frame: bytes) -> None:
        self._socket.sendall(frame)

    def receive(self) -> bytes:
        """The next answer without its length."""
        while len(self._read) < 4 or len(self._read) < 4 + int.from_bytes(self._read[:4], "big"):
            data = self._socket.recv(1 << 16)
            if not data:
                raise RuntimeError("the broker closed the connection")
            self._read += data
        end_at = 4 + int.from_bytes(self._read[:4], "big")
        answer = bytes(self._read[4:end_at])
        del self._read[:end_at]
        return answer

    def close(self) -> None:
        self._socket.close()


def fetch_frame(topic: str, offset: int, max_wait_ms: int = 500) -> bytes:
    values = requests.fetch(topic, 0, offset, max_wait_ms=max_wait_ms, max_bytes=1 << 20)
    return request_frame(FETCH, FETCH_VERSION, values, 1, CLIENT_ID)


def sample(broker: Broker, topic: str, acks: int, records: int) -> list[float]:
    """Milliseconds of each record. Raises RuntimeError if one comes not, or another."""
    (leader,) = broker.create_topic(topic)[:1]
    frame = produce_frame(topic, 0, record_batch(100), acks=acks)
    producer, consumer = Client(leader), Client(leader)
    took: list[float] = []
    try:
        _await_leader(consumer, topic)
        for offset in range(WARM_UP + records):
            consumer.send(fetch_frame(topic, offset))
            time.sleep(PARKED_S)
            began = time.perf_counter()
            producer.send(frame)
            while not (part := _fetched(consumer.receive())).records:
                if part.error_code:
                    raise RuntimeError(f"{broker.name} answers Fetch {part.error_code!r}")
                consumer.send(fetch_frame(topic, offset))  # it waited for 500 ms
            took.append((time.perf_counter() - began) * 1000)
            producer.receive()
    finally:
        producer.close()
        consumer.close()
    broker.delete_topics([topic])
    return took[WARM_UP:]


def _await_leader(consumer: Client, topic: str) -> None:
    """Kafka's leader learns that it is one a moment after the answer to CreateTopics."""
    until = time.monotonic() + 10
    while True:
        consumer.send(fetch_frame(topic, 0, max_wait_ms=0))
        error = _fetched(consumer.receive()).error_code
        if not error:
            return
        if time.monotonic() > until:
            raise RuntimeError(f"{topic} has no leader: {error!r}")
        time.sleep(0.01)


def _fetched(answer: bytes) -> Any:
    response: Any = decode_response(FETCH, FETCH_VERSION, answer)[1]
    return response.responses[0].partitions[0]


def rows(what: str, peer: str, ours: list[list[float]], theirs: list[list[float]], note: str) -> Iterator[Row]:
    for share, name in ((0.5, "p50"), (0.99, "p99")):
        mine, other = ([sorted(one)[int(share * len(one))] for one in samples] for samples in (ours, theirs))
        target = TARGETS.get(peer) if name == "p50" else None
        yield compare(f"produce to consume, {what}: {name}", peer, "ms", mine, other, target, note)


def main(argv: list[str]) -> int:
    chosen = options("latency", __doc__, argv, "fewer records, rougher figures")
    rounds, records = (1, 200) if chosen.quick else (3, 1_000)
    report = Report("latency")
    with fleet() as started, progress("latency", len(ACKS)) as step:
        for acks, what in ACKS.items():
            step(what)
            brokers = started.renew()
            samples: dict[str, list[list[float]]] = {name: [] for name in started.names}
            for number, (name, broker) in product(range(rounds), brokers.items()):
                samples[name].append(sample(broker, f"latency{acks}-{number}", acks, records))
            for peer in started.names[1:]:
                for row in rows(what, peer, samples[OURS], samples[peer], missing(started.reasons, peer)):
                    report.add(row)
        report.versions = {name: text for name, text in started.versions.items() if name != OURS}
    return end(report, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
