"""The measurements of the benchmark of fairness: one broker with neighbours that pipeline, or under one attack.

Two probes run meanwhile. LATE produces with acks=-1 to a topic with frozen followers, and measures how late each
REQUEST_TIMED_OUT is. QUIET sends ApiVersions, and measures the round trip.
"""

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
PERIOD_US = 5_000  # between two requests of a probe
WARM_S = 0.3  # of the probes on a new broker, and of neighbours before they are measured
WARM_CONNECTIONS = 64
MEMORY_LIMIT_BYTES = 6 << 30  # a broker under attack that needs more is killed
MEMORY_PERIOD_S = 0.02  # between two looks at its memory

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
    """The results of one broker. None stands for what was not measured.

    probes       the line of the prober (drivers/crowd.c): quantiles by name of the probe
    rate         requests/s of the neighbours
    answered_ms  time until the attack had all responses, or for which it waited for them
    memory_mb    growth of the resident memory during the attack, at its peak
    note         why there are no results, or how the broker ended
    """

    probes: dict[str, Any] = field(default_factory=dict)
    rate: float | None = None
    answered_ms: float | None = None
    memory_mb: float | None = None
    note: str = ""


def warm_up(broker: Broker) -> None:
    """Run the probes once without a measurement: the first requests to a process take longer. Raises DriverError."""
    run_ms = int(WARM_S * 1000)
    probes = [(address, replace(probe, connections=WARM_CONNECTIONS)) for address, probe in probes_of(broker)]
    with crowd.prober(probes, run_ms, PERIOD_US, 1_000) as prober:
        prober.tell()
        done = prober.result()
        if "late" in done and (wrong := done["late"]["errors"]):
            raise DriverError(f"{wrong} responses are not REQUEST_TIMED_OUT")


def probes_of(broker: Broker) -> list[tuple[tuple[str, int], Probe]]:
    probes = [LATE, QUIET] if broker.name in TIMES_OUT else [QUIET]
    return [(broker.address, probe) for probe in probes]


def make_busy_topic(broker: Broker, kind: Neighbours) -> None:
    """Create the topic of the neighbours. For a Fetch, fill it with `FETCHED_BYTES` in four batches."""
    make_topic(broker, BUSY)
    if kind.name.startswith("Fetch"):
        for _ in range(4):
            ask(broker.address, 0, 7, produce_frame(BUSY, 0, record_batch(FETCHED_BYTES // 4), acks=1))


def beside(broker: Broker, kind: Neighbours | None, connections: int, run_ms: int, patience_ms: int) -> Seen:
    """Measure the probes while this many neighbours send; with `kind` None there are none. Raises DriverError."""
    seen = Seen()
    warm_up(broker)
    if kind is None:
        with crowd.prober(probes_of(broker), run_ms, PERIOD_US, patience_ms) as prober:
            prober.tell()
            seen.probes = prober.result()
        return seen
    make_busy_topic(broker, kind)
    with (
        crowd.prober(probes_of(broker), run_ms, PERIOD_US, patience_ms) as prober,
        crowd.flood(broker.address, kind, connections) as neighbours,
    ):
        neighbours.tell()
        time.sleep(WARM_S)
        neighbours.tell()
        neighbours.result()  # of the warm-up
        prober.tell()
        time.sleep(run_ms / 1000)
        neighbours.tell()
        done = neighbours.result()
        seen.probes = prober.result()
    if done["errors"] or done["lost"]:
        raise DriverError(f"{done['errors']} responses to neighbours are errors, {done['lost']} were disconnected")
    seen.rate = done["requests"] / done["seconds"]
    broker.delete_topics([BUSY], broker.address)  # Kafka's other processes are paused and would not respond
    return seen


def under(broker: Broker, attack: Attack, run_ms: int, patience_ms: int) -> Seen:
    """Measure the probes under an attack, which begins `TIMEOUT_MS` after them. Raises DriverError."""
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
            if seen.answered_ms is None and attack.reads:
                seen.answered_ms = attackers.waited_ms()
                seen.note = "it closes the connection" if attackers.closed else "not answered by then"
    seen.memory_mb = (peak.bytes - before) / 1e6
    if peak.killed:
        seen.note = f"killed at {MEMORY_LIMIT_BYTES >> 30} GiB"
    elif not is_running(broker):
        seen.note = "it ended"
    else:
        try:
            broker.delete_topics([topic.name for topic in attack.topics], broker.address)
        except OSError:
            broker.kill()  # it no longer serves: the next measurement starts another one
    return seen


class Peak:
    """The largest resident memory of a broker during a block. A broker above `MEMORY_LIMIT_BYTES` is killed."""

    def __init__(self, broker: Broker, before: int) -> None:
        self.bytes = before
        self.killed = False
        self._broker = broker
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._ending.wait(MEMORY_PERIOD_S):
            try:
                self.bytes = max(self.bytes, self._broker.resident_bytes())
            except OSError:
                return
            if self.bytes > MEMORY_LIMIT_BYTES and not self.killed:
                self.killed = True
                self._broker.kill()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()
