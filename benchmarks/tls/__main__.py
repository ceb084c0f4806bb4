"""Produce requests of 1 KiB over TLS, and connects, beside kfake and Apache Kafka with TLS.

    python -m benchmarks tls [--quick] [--json]

Every side has one broker with one partition, RF 1, and shows the same certificate, on the curve P-256. One connection
sends pre-encoded frames, pipelined, and counts the responses, which it looks through for error codes. A connect is a
full handshake (TLS 1.3, no session is resumed) and one request ApiVersions. The driver is Python's `ssl`, in a process
of its own core where there are two. All sides take turns. "OpenSSL alone" is the server's side of the handshake in
memory, without sockets and a broker: no connect can take less.

Lateness and round trip are those of `python -m benchmarks fairness`, over a listener without TLS, beside 8 connections
that fetch or produce over TLS. "without TLS" are the same neighbours on a listener without it.
"""

from __future__ import annotations

import socket
import ssl
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.drivers.driver import Address
from benchmarks.drivers.frames import answer_bytes, error_at, produce_frame, record_batch
from benchmarks.fairness import MAX_LIMIT_MS, P99_LIMIT_MS
from benchmarks.machine.programs import Missing, kfake_program
from benchmarks.neighbours import crowd
from benchmarks.neighbours.crowd import Neighbours
from benchmarks.neighbours.sides import SLOW, make_topic, start_ours_frozen
from benchmarks.neighbours.situations import KINDS, PERIOD_US, Seen, make_busy_topic, probes_of, warm_up
from benchmarks.peers.brokers import KAFKA, KFAKE, OURS, Broker, start_kafka, start_ours, start_talking
from benchmarks.reporting.report import Report, end, missing, options, progress
from benchmarks.reporting.rows import LIMIT, Row, compare
from benchmarks.tls.neighbours import neighbours
from conformance import frames
from fakebroker.protocol.messages import decode_response
from fakebroker.server.tls.certificates import PASSWORD, Certificates

TOPIC = "secured"
CONNECT = "connect over TLS"
WINDOW = 64
VALUE_BYTES = 1024
_METADATA, _METADATA_VERSION = 3, 5
_READ_BYTES = 65_536
_LIMIT_S = 60.0
_WARM_KAFKA = 8
NEIGHBOURS = 8
_KINDS = ("Fetch of 64 KiB", "1 MiB, acks=1")
_LATENESS_MS = {"p99": P99_LIMIT_MS, "max": MAX_LIMIT_MS}
_PATIENCE_MS = 2_000


def secured(name: str, certificates: Certificates) -> Broker:
    """Start that side. Raises Missing. Its address is that of the listener with TLS."""
    pem = certificates.valid
    if name == KFAKE:
        key, chain = str(pem.with_suffix(".key")), str(pem.with_suffix(".crt"))
        return start_talking(KFAKE, [str(kfake_program()), "-brokers", "1", "-cert", chain, "-key", key])
    if name == KAFKA:
        return start_kafka(1, store(certificates), ["SSL"])
    settings = [word for key, value in store(certificates).items() for word in ("--config", f"{key}={value}")]
    return start_ours("--brokers", "1", "--listener", "SSL", *settings)


def store(certificates: Certificates) -> dict[str, str]:
    """Return the settings of the broker's certificate."""
    return {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(certificates.valid.with_suffix(".p12")),
        "ssl.keystore.password": PASSWORD,
    }


class Connection:
    """One connection over TLS."""

    def __init__(self, address: Address, context: ssl.SSLContext) -> None:
        plain = socket.create_connection(address, timeout=_LIMIT_S)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(plain, server_hostname="localhost")

    def ask(self, frame: bytes) -> bytes:
        """Return the response to a request, without its length."""
        self.socket.sendall(frame)
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionError("the broker closed the connection")
            data += part
        return bytes(data)

    def produce(self, frame: bytes, seconds: float) -> tuple[int, float]:
        """Send the frame again and again, WINDOW at a time in flight. Return the number of responses, and how long it
        took in seconds."""
        size, at = answer_bytes(TOPIC), error_at(TOPIC)
        half = WINDOW // 2
        burst = frame * half
        buffered = bytearray()
        answers, in_flight = 0, WINDOW
        begin = time.perf_counter()
        self.socket.sendall(frame * WINDOW)
        while True:
            part = self.socket.recv(_READ_BYTES)
            if not part:
                raise ConnectionError("the broker closed the connection")
            buffered += part
            whole = len(buffered) // size
            for number in range(whole):
                if buffered[number * size + at : number * size + at + 2] != b"\0\0":
                    raise ConnectionError(f"a response with an error: {bytes(buffered[:size]).hex()}")
            del buffered[: whole * size]
            answers, in_flight = answers + whole, in_flight - whole
            took = time.perf_counter() - begin
            if took < seconds and in_flight <= half:
                self.socket.sendall(burst)
                in_flight += half
            elif took >= seconds and not in_flight:
                return answers, took

    def close(self) -> None:
        self.socket.close()


def prepare(broker: Broker, context: ssl.SSLContext) -> None:
    """Create the topic, and wait until it has a leader."""
    until = time.monotonic() + _LIMIT_S
    connection = Connection(broker.address, context)
    request = frames.metadata([TOPIC], version=_METADATA_VERSION, allow_auto_topic_creation=True)
    while time.monotonic() < until:
        answer: Any = decode_response(_METADATA, _METADATA_VERSION, connection.ask(request))[1]
        (topic,) = answer.topics
        if not topic.error_code and topic.partitions and topic.partitions[0].leader_id >= 0:
            return connection.close()
        time.sleep(0.05)
    raise RuntimeError(f"{broker.name} has no leader after {_LIMIT_S:.0f} s")


def pipelined(broker: Broker, context: ssl.SSLContext, seconds: float) -> dict[str, float]:
    frame = produce_frame(TOPIC, 0, record_batch(VALUE_BYTES), -1)
    connection = Connection(broker.address, context)
    connection.produce(frame, seconds / 5)  # not measured
    cpu_s = broker.cpu_s()
    answers, took = connection.produce(frame, seconds)
    connection.close()
    return {"requests/s": answers / took, "us CPU": (broker.cpu_s() - cpu_s) / answers * 1e6}


def connects(broker: Broker, context: ssl.SSLContext, number: int) -> dict[str, float]:
    request = frames.api_versions(version=0)
    cpu_s, begin = broker.cpu_s(), time.perf_counter()
    for _ in range(number):
        connection = Connection(broker.address, context)
        connection.ask(request)
        connection.close()
    took = time.perf_counter() - begin
    return {"us CPU": (broker.cpu_s() - cpu_s) / number * 1e6, "us": took / number * 1e6}


def handshakes(server: ssl.SSLContext, client: ssl.SSLContext, number: int) -> float:
    """Return the microseconds of CPU that the server's side of a handshake takes in memory: OpenSSL, and no socket."""
    spent = 0.0
    for _ in range(number):
        to_server, to_client, of_server, of_client = (ssl.MemoryBIO() for _ in range(4))
        ours = server.wrap_bio(to_server, of_server, server_side=True)
        theirs = client.wrap_bio(to_client, of_client, server_hostname="localhost")
        for _ in range(2):  # of TLS 1.3: each side sends two flights
            with suppress(ssl.SSLWantReadError):
                theirs.do_handshake()
            to_server.write(of_client.read())
            begin = time.process_time()
            with suppress(ssl.SSLWantReadError):
                ours.do_handshake()
            spent += time.process_time() - begin
            to_client.write(of_server.read())
        assert ours.version() == "TLSv1.3"
    return spent / number * 1e6


def beside(kind: Neighbours, ca: Path | None, certificates: Certificates, run_ms: int) -> tuple[Seen, float]:
    """Return what 8 neighbours do to a time-out and to a quiet client of a new broker, and their own requests/s."""
    settings = [word for key, value in store(certificates).items() for word in ("--config", f"{key}={value}")]
    broker = start_ours_frozen("--listener", "IN=PLAINTEXT", "--listener", "OUT=SSL", *settings)
    try:
        make_topic(broker, SLOW, replicas=(1, 2, 3))
        warm_up(broker)
        make_busy_topic(broker, kind)
        host, _, port = broker.listeners["OUT" if ca else "IN"].split(",")[0].rpartition(":")
        with (
            crowd.prober(probes_of(broker), run_ms, PERIOD_US, _PATIENCE_MS) as prober,
            neighbours((host, int(port)), kind.frame, NEIGHBOURS, ca) as others,
        ):
            others.begin()
            prober.tell()
            time.sleep(run_ms / 1000)
            responses = others.end()
            return Seen(prober.result()), responses / run_ms * 1000
    finally:
        broker.stop()


def fairness(certificates: Certificates, rounds: int, run_ms: int) -> Iterator[Row]:
    """Yield what is late beside neighbours over TLS."""
    for kind in KINDS:
        if kind.name not in _KINDS:
            continue
        over, plain = (
            [beside(kind, ca, certificates, run_ms) for _ in range(rounds)] for ca in (certificates.ca, None)
        )
        for probe, what in (("late", "lateness"), ("quiet", "round trip")):
            for quantile in ("p50", "p99", "max"):
                work = f"{NEIGHBOURS} x {kind.name} over TLS: {what} {quantile}"
                ours, theirs = ([seen.probes[probe][f"{quantile}_ms"] for seen, _ in side] for side in (over, plain))
                if probe == "late" and quantile in _LATENESS_MS:
                    yield compare(work, LIMIT, "ms", ours, [_LATENESS_MS[quantile]])
                yield compare(work, "without TLS", "ms", ours, theirs)
        work = f"{NEIGHBOURS} x {kind.name} over TLS: what they get"
        yield compare(work, "without TLS", "requests/s", [rate for _, rate in over], [rate for _, rate in plain])


@contextmanager
def sides(certificates: Certificates) -> Iterator[tuple[Mapping[str, Broker], dict[str, str]]]:
    """Yield the sides that run, and why the others do not."""
    running: dict[str, Broker] = {}
    reasons: dict[str, str] = {}
    try:
        for name in (OURS, KFAKE, KAFKA):
            try:
                running[name] = secured(name, certificates)
            except Missing as reason:
                reasons[name] = str(reason)
        yield running, reasons
    finally:
        for broker in running.values():
            broker.stop()


def main(argv: list[str]) -> int:
    chosen = options("tls", __doc__, argv, "fewer and shorter rounds")
    rounds, seconds, number = (3, 0.4, 50) if chosen.quick else (7, 1.0, 200)
    report = Report("tls", driver=f"Python, {ssl.OPENSSL_VERSION}")
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
        certificates = Certificates(["localhost"], Path(folder))
        context = ssl.create_default_context(cafile=certificates.ca)
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(certificates.valid)
        works: dict[str, Callable[[Broker], dict[str, float]]] = {
            "1 KiB over TLS": lambda broker: pipelined(broker, context, seconds),
            CONNECT: lambda broker: connects(broker, context, number),
        }
        with sides(certificates) as (running, reasons), progress("tls", len(works) + 2) as step:
            for broker in running.values():
                prepare(broker, context)
            for work, measure in works.items():
                step(work)
                samples: dict[str, list[dict[str, float]]] = {name: [] for name in running}
                for round_ in range(rounds + 1):
                    for name, broker in running.items():
                        if round_:
                            samples[name].append(measure(broker))
                        else:  # not measured: processes warm up, the JVM more than others
                            for _ in range(_WARM_KAFKA if name == KAFKA else 1):
                                measure(broker)
                for unit in samples[OURS][0]:
                    ours = [sample[unit] for sample in samples[OURS]]
                    for peer in (KFAKE, KAFKA):
                        theirs = [sample[unit] for sample in samples.get(peer, [])]
                        target = 1.0 if unit == "requests/s" else None
                        report.add(compare(work, peer, unit, ours, theirs, target, missing(reasons, peer)))
                if work == CONNECT:
                    step("handshakes of OpenSSL alone")
                    alone = [handshakes(server, context, number) for _ in range(rounds)]
                    report.add(compare(work, "OpenSSL alone", "us CPU", [s["us CPU"] for s in samples[OURS]], alone))
            step("neighbours over TLS")
            for row in fairness(certificates, rounds, 700 if chosen.quick else 2_000):
                report.add(row)
            report.versions = {name: broker.version for name, broker in running.items() if name != OURS}
    return end(report, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
