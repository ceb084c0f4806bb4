"""The brokers that are measured, each in a process of its own: ours, and the peers that this machine can have.

All have three brokers on loopback. A topic is made by CreateTopics, except in librdkafka's mock, which makes it when it
is asked for it, always with 4 partitions. The leader of a partition is looked up, never assumed.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.drivers.driver import Address
from benchmarks.machine.programs import HERE, Missing, kfake_program
from conformance import frames
from conformance.targets.kafka_box import KafkaBox, Unavailable, kafka_version
from fakebroker import __version__
from fakebroker.protocol.messages import decode_response

OURS = "fakebroker"
MOCK = "librdkafka mock"
KFAKE = "kfake"
KAFKA = "Apache Kafka"
PEERS = (MOCK, KFAKE, KAFKA)
BROKERS = 3
MOCK_PARTITIONS = 4
_START_LIMIT_S = 60.0
_METADATA_VERSION, _CREATE_VERSION, _DELETE_VERSION = 5, 4, 3


class Broker:
    """A running cluster: `address` is its first broker, `pids` its processes. `listeners` has the bootstrap addresses
    of each listener of ours."""

    def __init__(
        self, name: str, version: str, address: Address, pids: Sequence[int], stop: Callable[[], None]
    ) -> None:
        self.name = name
        self.version = version
        self.address = address
        self.pids = list(pids)
        self.stop = stop
        self.listeners: Mapping[str, str] = {}

    @property
    def bootstrap(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    def create_topic(self, name: str, partitions: int = 1, replication: int = BROKERS) -> list[Address]:
        """Make a topic; the addresses of its leaders by partition, as soon as all have one."""
        return self.create_topics([name], partitions, replication)[name]

    def create_topics(
        self, names: Sequence[str], partitions: int = 1, replication: int = BROKERS
    ) -> dict[str, list[Address]]:
        """Create many topics at once and return the leaders of each."""
        if self.name != MOCK:
            shape = {"num_partitions": partitions, "replication_factor": replication}
            request = frames.create_topics([{"name": name, **shape} for name in names], version=_CREATE_VERSION)
            for topic in ask(self.controller(), 19, _CREATE_VERSION, request).topics:
                if topic.error_code:
                    raise RuntimeError(f"{self.name} does not make the topic {topic.name}: {topic.error_code!r}")
        return self.await_leaders(names, partitions)

    def await_leaders(self, names: Sequence[str], partitions: int) -> dict[str, list[Address]]:
        """The addresses of the leaders, as soon as all have one."""
        until = time.monotonic() + _START_LIMIT_S
        while time.monotonic() < until:
            leaders = self.leaders(names)
            if all(len(leaders[name]) >= partitions for name in names):
                return leaders
            time.sleep(0.02)
        raise RuntimeError(f"{self.name} has topics without leaders after {_START_LIMIT_S:.0f} s")

    def controller(self) -> Address:
        answer = ask(self.address, 3, _METADATA_VERSION, frames.metadata([], version=_METADATA_VERSION))
        (node,) = [broker for broker in answer.brokers if broker.node_id == answer.controller_id]
        return node.host, node.port

    def leaders(self, names: Sequence[str]) -> dict[str, list[Address]]:
        """Return the leaders by topic and partition. A list is shorter while some partitions have no leader."""
        request = frames.metadata(list(names), version=_METADATA_VERSION, allow_auto_topic_creation=True)
        answer = ask(self.address, 3, _METADATA_VERSION, request)
        addresses = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
        leaders_by_topic: dict[str, list[Address]] = {name: [] for name in names}
        for topic in answer.topics:
            for part in sorted(topic.partitions, key=lambda partition: partition.partition_index):
                if not part.error_code and part.leader_id in addresses:
                    leaders_by_topic[topic.name].append(addresses[part.leader_id])
        return leaders_by_topic

    def delete_topics(self, names: Sequence[str], address: Address | None = None) -> None:
        """Delete topics so that Kafka frees its disk; the other brokers are thrown away anyway. The default address is
        the controller, which is any broker that Kafka names."""
        if self.name == KAFKA:
            ask(
                address or self.controller(),
                20,
                _DELETE_VERSION,
                frames.delete_topics(list(names), version=_DELETE_VERSION),
            )

    def end_offset(self, topic: str) -> int:
        """The sum of the ends of all partitions' logs."""
        total = 0
        for partition, leader in enumerate(self.leaders([topic])[topic]):
            answer = ask(leader, 2, 2, frames.list_offsets(topic, -1, partition, version=2))
            total += answer.topics[0].partitions[0].offset
        return total

    def kill(self) -> None:
        """Kill the processes at once. A call of `stop` is still needed."""
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)

    def cpu_s(self) -> float:
        return sum(map(process_cpu_s, self.pids))

    def resident_bytes(self) -> int:
        """Memory of all its processes that is in RAM now (Linux)."""
        pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self.pids]
        return sum(pages) * resource.getpagesize()


def process_cpu_s(pid: int) -> float:
    """Time that its threads have been on a processor, in seconds (Linux). Threads that have ended are not in it."""
    return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def ask(address: Address, api_key: int, version: int, frame: bytes) -> Any:
    """One request on a connection of its own; the decoded answer."""
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(frame)
        data = b""
        while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
            part = connection.recv(1 << 20)
            if not part:
                raise RuntimeError(f"{address} closed the connection")
            data += part
    return decode_response(api_key, version, data[4:])[1]


def serve_command(*options: str) -> list[str]:
    """Our broker as users start it, from this interpreter."""
    program = "from fakebroker.cli import main; main()"
    ports = [] if "--listener" in options else ["--port", "0"]
    return [sys.executable, "-c", program, "serve", "--brokers", str(BROKERS), *ports, *options]


def environment() -> dict[str, str]:
    """Return the environment with this source tree on the path."""
    # What stands in PYTHONPATH first: it may be a compiled copy, and this folder holds the source.
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(HERE.parent)])
    return {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}


def dying_with_us() -> list[str]:
    """Return a prefix for a command so that its process ends when this one is killed, where Linux can do that. The
    other peers end with their standard input."""
    return ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []


def start_ours(*options: str) -> Broker:
    folder = tempfile.TemporaryDirectory(prefix="benchmarks-")
    ready = Path(folder.name) / "ready.json"
    log = Path(folder.name) / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*dying_with_us(), *serve_command("--ready-file", str(ready), *options)],
            stdout=output,
            stderr=output,
            env=environment(),
        )

    def stop() -> None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        folder.cleanup()

    until = time.monotonic() + _START_LIMIT_S
    while not ready.exists():
        if process.poll() is not None or time.monotonic() > until:
            said = log.read_text(errors="replace").strip().splitlines()
            stop()
            raise RuntimeError(f"fakebroker did not start: {said[-1] if said else process.returncode}")
        time.sleep(0.005)
    facts = json.loads(ready.read_text())
    first = facts["brokers"][0]
    broker = Broker(OURS, __version__, (first["host"], first["port"]), [process.pid], stop)
    broker.listeners = facts.get("listeners", {})
    return broker


def start_talking(name: str, command: list[str]) -> Broker:
    """A peer that prints its addresses and ends with its standard input."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def stop() -> None:
        process.kill()
        process.communicate()

    line = process.stdout.readline()
    if not line:
        _, said = process.communicate()
        raise Missing((said.strip() or f"exit status {process.returncode}").splitlines()[-1])
    facts = json.loads(line)
    host, _, port = facts["addresses"][0].partition(":")
    return Broker(name, facts["version"], (host, int(port)), [process.pid], stop)


def start_mock(brokers: int = BROKERS) -> Broker:
    return start_talking(MOCK, [sys.executable, "-m", "benchmarks.peers.librdkafka_mock", str(brokers)])


def start_kfake(brokers: int = BROKERS) -> Broker:
    return start_talking(KFAKE, [str(kfake_program()), "-brokers", str(brokers)])


def start_kafka(brokers: int = BROKERS, more: Mapping[str, str] | None = None, listeners: Sequence[str] = ()) -> Broker:
    """Start Apache Kafka, with `more` settings. Its address is that of the first of `listeners`, if there are any."""
    settings = {"log.segment.delete.delay.ms": "1000", "auto.leader.rebalance.enable": "false", **(more or {})}
    try:
        box = KafkaBox(brokers, settings, listeners=listeners)
        box.start()
    except Unavailable as reason:
        raise Missing(str(reason).splitlines()[0]) from None
    pids = [process.pid for process in box._processes.values()]
    address = box.others[listeners[0], 1] if listeners else box.endpoints[1]
    return Broker(KAFKA, kafka_version(), address, pids, box.stop)


STARTERS: dict[str, Callable[[], Broker]] = {
    OURS: start_ours,
    MOCK: start_mock,
    KFAKE: start_kfake,
    KAFKA: start_kafka,
}


class Fleet:
    """Ours and the peers, started when first asked for. `renew` gives a fresh process of each but Apache Kafka, which
    takes long to start and does not grow."""

    def __init__(self, names: Sequence[str] = PEERS) -> None:
        self.names = (OURS, *names)
        self.reasons: dict[str, str] = {}  # why a peer is missing
        self.versions: dict[str, str] = {}
        self._running: dict[str, Broker] = {}

    def renew(self) -> dict[str, Broker]:
        for name in self.names:
            if name in self.reasons or (name == KAFKA and name in self._running):
                continue
            if name in self._running:
                self._running.pop(name).stop()
            try:
                self._running[name] = STARTERS[name]()
            except Missing as reason:
                self.reasons[name] = str(reason)
            else:
                self.versions[name] = self._running[name].version
        return dict(self._running)

    def stop(self) -> None:
        while self._running:
            self._running.popitem()[1].stop()


@contextmanager
def fleet(names: Sequence[str] = PEERS) -> Iterator[Fleet]:
    started = Fleet(names)
    try:
        yield started
    finally:
        started.stop()
