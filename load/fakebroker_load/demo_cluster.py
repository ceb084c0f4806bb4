"""The cluster of the demo, in a process of its own. This module does not import Spark, so the process starts at once.

Theory   Frozen followers leave the ISR after replica.lag.time.max.ms, and then acks=all no longer waits for them. This
         cluster sets it to an hour.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from fakebroker.server.fake_cluster import FakeCluster
from fakebroker.server.running.collecting import collect_what_is_new
from fakebroker_load.traffic.machine_lateness import MachineLateness

BROKERS = 3
REPLICA_LAG_TIME_MAX_MS = 3_600_000  # an hour: longer than any run
STOP_TIMEOUT_S = 10

LOOK_EVERY_S = 0.02  # how often the lateness of the machine is sampled

Bootstrap = list[tuple[str, int]]


class RunningCluster(NamedTuple):
    """A running cluster: its address, and functions that freeze and resume the followers of a topic. `machine_late_ms`
    returns how late the machine made the brokers at most since its last call, in milliseconds."""

    bootstrap: Bootstrap
    freeze: Callable[[str], None]
    resume: Callable[[str], None]
    machine_late_ms: Callable[[], int | None]


class ClusterDidNotStart(Exception):
    """The cluster's process ended before it listened; its output says why."""


@contextmanager
def cluster_process(topics: dict[str, int], journal: Path | None = None) -> Iterator[RunningCluster]:
    """Run a cluster with these topics (name -> partitions) in another process. It writes its journal to that file."""
    context = multiprocessing.get_context("spawn")  # a fork would copy Spark's threads and sockets
    ours, theirs = context.Pipe()
    process = context.Process(
        target=serve_cluster, args=(theirs, topics, journal), name="fakebroker-cluster", daemon=True
    )
    with ignored_interrupts():  # Ctrl-C reaches both processes; the new one inherits that it ignores it
        process.start()
    theirs.close()

    def ask(what: str, topic: str = "") -> int | None:
        ours.send((what, topic))
        echo, answer = ours.recv()
        if echo != what:
            raise RuntimeError("the cluster's process answers something else than it was asked")
        late_ms: int | None = answer
        return late_ms

    def tell(what: str, topic: str) -> None:
        ask(what, topic)

    try:
        try:
            bootstrap = ours.recv()
        except EOFError:
            raise ClusterDidNotStart("The cluster's process ended before it listened.") from None
        yield RunningCluster(bootstrap, partial(tell, "freeze"), partial(tell, "resume"), partial(ask, "late"))
    finally:
        ours.close()  # the other process takes that as the end
        process.join(STOP_TIMEOUT_S)
        if process.is_alive():
            process.kill()
            process.join()


@contextmanager
def ignored_interrupts() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # signals can be set only there
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def serve_cluster(pipe: Connection, topics: dict[str, int], journal: Path | None = None) -> None:
    """Run the other process: start the cluster, send its address, and handle commands until the pipe is closed."""
    config = {"replica.lag.time.max.ms": REPLICA_LAG_TIME_MAX_MS}
    with FakeCluster(BROKERS, config=config, journal=0, journal_file=journal) as kafka:
        for name, partitions in topics.items():
            kafka.create_topic(name, partitions, BROKERS)
        collect_what_is_new()
        lateness = MachineLateness(kafka._call(threading.get_native_id))
        try:
            pipe.send([(broker.host, broker.port) for broker in kafka.endpoints])
            while True:
                while not pipe.poll(LOOK_EVERY_S):
                    lateness.look()
                what, topic = pipe.recv()
                if what != "late":
                    (kafka.followers.freeze if what == "freeze" else kafka.followers.resume)(topic)
                pipe.send((what, lateness.take_ms() if what == "late" else None))
        except (EOFError, OSError):  # the load has ended
            return
