"""Time from the start of a process to its first response to ApiVersions, and for a further cluster in the same process.

    python -m benchmarks start [--quick] [--json]

The time ends with the answer; a broker that does not tell when it is ready is tried every millisecond. librdkafka's
mock has no process of its own: what is measured is a Python that imports confluent-kafka and starts one. Apache Kafka
is one broker here, on storage that is formatted already. A further cluster is timed until its `with` block is entered.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import product
from typing import NamedTuple

from benchmarks.drivers.driver import Address
from benchmarks.machine.programs import Missing, kfake_program
from benchmarks.peers.brokers import KAFKA, KFAKE, MOCK, PEERS, ask, environment, process_cpu_s, serve_command
from benchmarks.reporting.report import Report, end, missing, options, progress
from benchmarks.reporting.rows import LIMIT, compare
from conformance import frames
from conformance.targets.kafka_box import KafkaBox, Unavailable
from fakebroker import FakeCluster

START_LIMIT_MS, CLUSTER_LIMIT_MS = 250.0, 5.0
KAFKA_ROUNDS = 3  # a start takes seconds
_LIMIT_S = 60.0


class Taken(NamedTuple):
    """Milliseconds until the answer, and of CPU of the process until then."""

    ms: float
    cpu_ms: float


def ask_versions(address: Address) -> None:
    ask(address, 18, 0, frames.api_versions(0))


def await_answer(address: Address, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _LIMIT_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the broker ended with status {process.returncode}")
        with suppress(OSError, RuntimeError):  # not listening yet, or not answering yet
            ask_versions(address)
            return
        time.sleep(0.001)
    raise RuntimeError(f"no answer within {_LIMIT_S:.0f} s")


@contextmanager
def quiet(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment()
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def start_ours() -> Taken:
    """The ports are told on stdout; waiting for that line costs nothing, as it comes after listening."""
    started = time.perf_counter()
    with quiet(serve_command()) as process:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        host, _, port = line.partition("bootstrap_servers=")[2].split(",")[0].partition(":")
        await_answer((host, int(port)), process)
        return Taken((time.perf_counter() - started) * 1000, process_cpu_s(process.pid) * 1000)


def start_talking(command: list[str]) -> Taken:
    """A peer that prints its addresses as JSON."""
    started = time.perf_counter()
    with quiet(command) as process:
        assert process.stdout is not None
        host, _, port = json.loads(process.stdout.readline())["addresses"][0].partition(":")
        await_answer((host, int(port)), process)
        return Taken((time.perf_counter() - started) * 1000, process_cpu_s(process.pid) * 1000)


def start_kafka(box: KafkaBox) -> Taken:
    """Start Kafka on the storage that the box has formatted."""
    started = time.perf_counter()
    box.start_broker(1)
    await_answer(box.endpoints[1], box._processes[1])
    pid = box._processes[1].pid
    taken = Taken((time.perf_counter() - started) * 1000, process_cpu_s(pid) * 1000)
    box.stop_broker(1)
    return taken


def further_clusters(count: int) -> list[float]:
    """Milliseconds from the call to an answer, each of a cluster in this process, after a first one."""
    taken = []
    for _ in range(count + 1):
        started = time.perf_counter()
        with FakeCluster(brokers=3) as kafka:
            made = time.perf_counter()
            endpoint = kafka.endpoints[0]
            ask_versions((endpoint.host, endpoint.port))
        taken.append((made - started) * 1000)
    return taken[1:]


def samples(rounds: int, step: Callable[[str], None]) -> tuple[dict[str, list[Taken]], dict[str, str]]:
    """Return the times by broker, which take turns, and why a peer is missing."""
    reasons: dict[str, str] = {}
    starts: dict[str, Callable[[], Taken]] = {
        "ours": start_ours,
        MOCK: lambda: start_talking([sys.executable, "-m", "benchmarks.peers.librdkafka_mock", "3"]),
    }
    try:
        program = str(kfake_program())
        starts[KFAKE] = lambda: start_talking([program])
    except Missing as reason:
        reasons[KFAKE] = str(reason)
    with ExitStack() as stack:
        step(f"starting {KAFKA}")
        try:
            box = KafkaBox(1, {})
            stack.callback(box.stop)
            box.start()
            box.stop_broker(1)
            starts[KAFKA] = lambda: start_kafka(box)
        except Unavailable as reason:
            reasons[KAFKA] = str(reason).splitlines()[0]
        taken_by_broker: dict[str, list[Taken]] = {name: [] for name in starts}
        for number, (name, start) in product(range(rounds + 1), starts.items()):
            step(name)
            if name == KAFKA and number > KAFKA_ROUNDS:
                continue
            taken = start()
            if number:  # the first fills the page cache and writes the .pyc files
                taken_by_broker[name].append(taken)
    return taken_by_broker, reasons


def main(argv: list[str]) -> int:
    chosen = options("start", __doc__, argv, "fewer starts")
    rounds, clusters = (3, 10) if chosen.quick else (9, 50)
    report = Report("start")
    with progress("start", 4 * (rounds + 1) + 2) as step:
        taken_by_broker, reasons = samples(rounds, step)
        step("further clusters")
        further = further_clusters(clusters)
    work = "process start to first answer"
    ms = {name: [one.ms for one in taken] for name, taken in taken_by_broker.items()}
    cpu_ms = {name: [one.cpu_ms for one in taken] for name, taken in taken_by_broker.items()}
    report.add(compare(work, LIMIT, "ms", ms["ours"], [START_LIMIT_MS]))
    for what, unit, samples_of in ((work, "ms", ms), (f"{work}, CPU of the broker", "ms CPU", cpu_ms)):
        for peer in PEERS:
            note = missing(reasons, peer)
            report.add(compare(what, peer, unit, samples_of["ours"], samples_of.get(peer, []), note=note))
    report.add(compare("a further cluster in the process", LIMIT, "ms", further, [CLUSTER_LIMIT_MS]))
    return end(report, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
