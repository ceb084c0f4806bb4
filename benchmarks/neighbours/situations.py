"""One broker beside neighbours that pipeline, or under one attack: what it does to a time-out and to a quiet client."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.drivers.driver import DriverError
from benchmarks.drivers.frames import MIB, error_at, produce_frame, record_batch
from benchmarks.neighbours import crowd, hostile
from benchmarks.neighbours.attacks import Attack
from benchmarks.neighbours.crowd import UNANSWERED, Neighbours, Probe
from benchmarks.neighbours.sides import SLOW, TIMES_OUT, is_running, make_topic
from benchmarks.peers.brokers import Broker, ask
from conformance import frames

BUSY = "busy"  # the topic of the neighbours
TIMEOUT_MS = 200
REQUEST_TIMED_OUT = 7
PERIOD_US = 5_000  # of the time-outs, and of the quiet client's requests
WARM_S = 0.3
WARM_CONNECTIONS = 64
MEMORY_LIMIT = 6 << 30  # of a broker under attack: beyond it is stopped
LOOK_S = 0.02

LATE = Probe(
    "late",
    produce_frame(SLOW, 0, record_batch(10), acks=-1, timeout_ms=TIMEOUT_MS),
    TIMEOUT_MS,
    error_at(SLOW),
    REQUEST_TIMED_OUT,
)
QUIET = Probe("quiet", frames.api_versions(version=0))
FETCHED_BYTES = 64 * 1024

KINDS = (
    Neighbours("acks=1", produce_frame(BUSY, 0, record_batch(100), acks=1), error_at=error_at(BUSY)),
    Neighbours("acks=0", produce_frame(BUSY, 0, record_batch(100), acks=0), UNANSWERED),
    Neighbours("ApiVersions", frames.api_versions(version=0), error_at=8),
    Neighbours("Fetch of 64 KiB", hostile.fetch_much(BUSY, FETCHED_BYTES)),
    Neighbours("1 MiB, acks=1", produce_frame(BUSY, 0, record_batch(MIB), acks=1), 4, error_at(BUSY)),
)


@dataclass
class Seen:
    """Results from one broker: the probes' quantiles by name, and those of the neighbours or of the attack."""

    probes: dict[str, Any] = field(default_factory=dict)
    rate: float | None = None  # requests/s of the neighbours
    answered_ms: float | None = None  # until an attack had its answers
    memory_mb: float | None = None  # at most, beyond what it was before
    note: str = ""


def warm_up(broker: Broker) -> None:
    """Send the first requests to a broker: work that a process does for the first time takes longer. Raises
    DriverError."""
    run_ms = int(WARM_S * 1000)
    few = [(address, replace(probe, connections=WARM_CONNECTIONS)) for address, probe in probes_of(broker)]
    with crowd.prober(few, run_ms, PERIOD_US, 1_000) as prober:
        prober.tell()
        done = prober.result()
        if "late" in done and (wrong := done["late"]["errors"]):
            raise DriverError(f"{wrong} answers are not time-outs")


def probes_of(broker: Broker) -> list[tuple[tuple[str, int], Probe]]:
    wanted = [LATE, QUIET] if broker.name in TIMES_OUT else [QUIET]
    return [(broker.address, probe) for probe in wanted]


def beside(broker: Broker, kind: Neighbours | None, connections: int, run_ms: int, patience_ms: int) -> Seen:
    """Beside so many neighbours. Raises DriverError."""
    seen = Seen()
    warm_up(broker)
    if kind is None:
        with crowd.prober(probes_of(broker), run_ms, PERIOD_US, patience_ms) as prober:
            prober.tell()
            seen.probes = prober.result()
        return seen
    make_topic(broker, BUSY)
    if kind.name.startswith("Fetch"):
        for _ in range(4):
            ask(broker.address, 0, 7, produce_frame(BUSY, 0, record_batch(FETCHED_BYTES // 4), acks=1))
    with (
        crowd.prober(probes_of(broker), run_ms, PERIOD_US, patience_ms) as prober,
        crowd.flood(broker.address, kind, connections) as neighbours,
    ):
        neighbours.tell()
        time.sleep(WARM_S)
        neighbours.tell()
        neighbours.result()
        prober.tell()
        time.sleep(run_ms / 1000)
        neighbours.tell()
        done = neighbours.result()
        seen.probes = prober.result()
    if done["errors"] or done["lost"]:
        raise DriverError(f"{done['errors']} answers to neighbours are errors, {done['lost']} of them were closed")
    seen.rate = done["requests"] / done["seconds"]
    broker.delete_topics([BUSY], broker.address)  # others of Kafka's processes are stopped
    return seen


def under(broker: Broker, attack: Attack, run_ms: int, patience_ms: int) -> Seen:
    """Under an attack, which begins with the probes or a little after. Raises DriverError."""
    seen = Seen()
    warm_up(broker)
    for topic in attack.topics:
        make_topic(broker, topic.name, topic.partitions, topic.configs)
        topic.fill(broker.address)
    data = attack.data()
    before = broker.resident_bytes()
    peak = Peak(broker, before)
    with crowd.prober(probes_of(broker), run_ms, PERIOD_US, patience_ms) as prober:
        prober.tell()
        time.sleep(TIMEOUT_MS / 1000)
        with attack.running(broker.address, data) as attackers, peak:
            seen.probes = prober.result()
            seen.answered_ms = attackers.answered_ms(patience_ms / 1000)
            if seen.answered_ms is None and attack.reads:  # counts with what it has waited
                seen.answered_ms = attackers.waited_ms()
                seen.note = "it closes the connection" if attackers.closed else "not answered by then"
    seen.memory_mb = (peak.bytes - before) / 1e6
    if peak.stopped:
        seen.note = f"stopped at {MEMORY_LIMIT >> 30} GiB"
    elif not is_running(broker):
        seen.note = "it ended"
    else:
        try:
            broker.delete_topics([topic.name for topic in attack.topics], broker.address)
        except OSError:
            broker.kill()  # it does not serve on: the next gets another one
    return seen


class Peak:
    """The largest resident memory of a broker within a block; a broker that grows beyond all bounds is killed."""

    def __init__(self, broker: Broker, before: int) -> None:
        self.bytes = before
        self.stopped = False
        self._broker = broker
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._ending.wait(LOOK_S):
            try:
                self.bytes = max(self.bytes, self._broker.resident_bytes())
            except OSError:
                return
            if self.bytes > MEMORY_LIMIT and not self.stopped:
                self.stopped = True
                self._broker.kill()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()
