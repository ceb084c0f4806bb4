"""`fakebroker demo`, the main job: acks=all against frozen followers, and proof of what every request was answered.

Theory   A cluster of three brokers runs in a process of its own, so that it and the load do not share an interpreter.
         First everything is healthy: acks=all is answered NONE. Then the followers of one topic are frozen, and
         thousands of acks=all requests to those same partitions must be answered REQUEST_TIMED_OUT, each when its own
         timeout is over, while acks=0, acks=1 and a healthy topic beside them do not wait.
         Frozen followers leave the in-sync replicas after replica.lag.time.max.ms, and then acks=all no longer waits
         for them. The cluster of the demo has that far away.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from rich.console import Console

from fakebroker.server.fake_cluster import FakeCluster
from load.console import make_console, print_verdict, progress_bar
from load.errors import INTERRUPTED_STATUS, USER_ERROR_STATUS, USER_ERRORS
from load.job import REPORT_FILE, Bootstrap, ResultsError, clear, judge_folder, read_runs, run_scenario
from load.limits import allow_connections
from load.report import write_report
from load.scenario import Scenario, load_scenario
from load.session import start_spark, stop_spark
from load.verdict import DEFAULT_LATENESS_LIMIT_MS

BROKERS = 3
FROZEN_TOPIC = "orders"
REPLICA_LAG_TIME_MAX_MS = 3_600_000  # an hour: longer than any run
STOP_TIMEOUT_S = 10

Freeze = Callable[[str], None]


def run_demo(
    out: Path = Path("fakebroker-demo"),
    *,
    seed: int = 1,
    lateness_limit_ms: int = DEFAULT_LATENESS_LIMIT_MS,
    scenarios: tuple[str, str] = ("healthy", "frozen"),
) -> int:
    """Run the demo and write `report.html` into the folder `out`.

    `scenarios` are run in this order, with the followers of the topic `orders` frozen in between.
    Returns 0 if every request got what it should, 1 if not, 2 if the demo cannot run here, 130 after Ctrl-C.
    """
    console = make_console()
    try:
        return _run(console, out, seed, lateness_limit_ms, load_scenario(scenarios[0]), load_scenario(scenarios[1]))
    except USER_ERRORS as error:
        print(f"fakebroker demo: {error}", file=sys.stderr)
        return USER_ERROR_STATUS
    except KeyboardInterrupt:
        console.print("Interrupted.")
        return INTERRUPTED_STATUS


def _run(console: Console, out: Path, seed: int, lateness_limit_ms: int, before: Scenario, after: Scenario) -> int:
    allow_connections(max(before.connections, after.connections))
    try:
        clear(out)
    except OSError as error:
        raise ResultsError(f"{out} cannot be written: {error.strerror}.") from error
    with cluster_process({**before.topics, **after.topics}) as (bootstrap, freeze):
        with console.status("starting Spark"):
            spark = start_spark()
        try:
            console.print(f"{BROKERS} brokers in a process of their own: {', '.join(f'{h}:{p}' for h, p in bootstrap)}")
            with progress_bar(console, f"{before.name}: all followers replicate", before.requests) as on_progress:
                run_scenario(spark, before, bootstrap, out, seed=seed, on_progress=on_progress)
            freeze(FROZEN_TOPIC)
            with progress_bar(console, f"{after.name}: those of {FROZEN_TOPIC} do not", after.requests) as on_progress:
                run_scenario(spark, after, bootstrap, out, seed=seed, on_progress=on_progress)
            with console.status("judging"):
                judged, verdict = judge_folder(spark, out, lateness_limit_ms)
                write_report(spark, judged, verdict, read_runs(out), out / REPORT_FILE)
            print_verdict(console, verdict)
            console.print(f"Report: {out / REPORT_FILE}")
            return 0 if verdict.ok else 1
        finally:
            stop_spark(spark)


@contextmanager
def cluster_process(topics: dict[str, int]) -> Iterator[tuple[Bootstrap, Freeze]]:
    """A cluster with these topics (name -> partitions) in another process: where it is, and how to freeze a topic."""
    context = multiprocessing.get_context("spawn")  # a fork would take Spark's threads and sockets along
    ours, theirs = context.Pipe()
    process = context.Process(target=serve_cluster, args=(theirs, topics), name="fakebroker-cluster", daemon=True)
    process.start()
    theirs.close()

    def freeze(topic: str) -> None:
        ours.send(topic)
        if ours.recv() != topic:
            raise RuntimeError("the cluster's process answers something else than it was asked")

    try:
        try:
            bootstrap = ours.recv()
        except EOFError:
            raise ResultsError("The cluster's process ended before it listened.") from None
        yield bootstrap, freeze
    finally:
        ours.close()  # the other side takes that as the end
        process.join(STOP_TIMEOUT_S)
        if process.is_alive():
            process.kill()
            process.join()


def serve_cluster(pipe: Connection, topics: dict[str, int]) -> None:
    """The other process: start the cluster, tell where it is, freeze what is named, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both processes; the first one decides
    with FakeCluster(BROKERS, config={"replica.lag.time.max.ms": REPLICA_LAG_TIME_MAX_MS}) as kafka:
        for name, partitions in topics.items():
            kafka.create_topic(name, partitions, BROKERS)
        pipe.send([(broker.host, broker.port) for broker in kafka.endpoints])
        while True:
            try:
                topic = pipe.recv()
            except EOFError:
                return
            kafka.followers.freeze(topic)
            pipe.send(topic)
