"""Run the bundled scenarios against an honest broker while the load is paused now and then: no verdict may accuse it.

    python -m tests.honest [--runs N] [--minutes M] [--seed S] [--busy K] [--kafka] [SCENARIO ...]

K busy loops run beside it. Workers of the load are stopped (SIGSTOP) and continued after 50 to 1,500 ms, by seed. A run
is confirmed (exit status 0), not measured (4), or accuses the broker (1), whatever else it says. The last line is JSON
with the counts; the exit status is 1 if any run accused. Each run has a `fakebroker serve` of its own, with its control
and its journal in a file. With --kafka there is Apache Kafka (conformance/) instead, without a journal: followers are
frozen, and brokers stopped, by signals (kafka_control.py), and scenarios that need what Kafka cannot do are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from support.serving import Serving

from conformance.targets.target import KafkaTarget
from fakebroker_load import cli
from fakebroker_load.errors import USER_ERRORS
from fakebroker_load.judging.findings import RIGHT, STATUS, WRONG
from fakebroker_load.scenario.reading import bundled, load_scenario
from fakebroker_load.session import start_spark, stop_spark
from fakebroker_load.spark.stopping import RunStopped

from . import TESTS  # noqa: F401  # it puts `support` on the path
from .kafka_control import box_of, create_internal_topics, is_possible, kafka_control

BUSY = "while True: pass"
STOP_MS = 50, 1_500
GO_ON_MS = 100, 1_000
KINDS = {status: kind for kind, status in STATUS.items()}
UNABLE = "could not be run"


def main(argv: Sequence[str]) -> int:
    options = _options(argv)
    names = options.scenarios or list(bundled())
    if options.kafka:
        names = [name for name in names if is_possible(load_scenario(name))]
    ends_at = time.monotonic() + options.minutes * 60
    counts: Counter[str] = Counter()
    of_scenarios: dict[str, Counter[str]] = {name: Counter() for name in names}
    spark = start_spark(f"local[{max(2, len(os.sched_getaffinity(0)))}]")
    try:
        with tempfile.TemporaryDirectory() as folder, busy(options.busy), kafkas() as kafka_of:
            for number in range(options.runs):
                if time.monotonic() > ends_at:
                    break
                name, seed = names[number % len(names)], options.seed + number
                out = Path(folder) / f"run-{number}"
                stops: list[int] = []
                with standing_still(Random(seed), stops):
                    kind = one(name, seed, out, kafka_of(name) if options.kafka else None)
                counts[kind] += 1
                of_scenarios[name][kind] += 1
                print(f"{number + 1}: {name}, seed {seed}, {len(stops)} stops: {kind}", flush=True)
                if kind != RIGHT:
                    print(told(out), flush=True)
    finally:
        stop_spark(spark)
    print(
        json.dumps(
            {"runs": dict(counts), "scenarios": {name: dict(counts_of) for name, counts_of in of_scenarios.items()}}
        )
    )
    return 1 if counts[WRONG] else 0


@contextmanager
def kafkas() -> Iterator[Callable[[str], KafkaTarget]]:
    """Yield what returns the Kafka that a scenario needs. It is started once, and stopped at the end."""
    with ExitStack() as stack:
        running: dict[bool, KafkaTarget] = {}

        def of(name: str) -> KafkaTarget:
            scenario = load_scenario(name)
            is_frozen = bool(scenario.followers)
            if is_frozen not in running:
                target = running[is_frozen] = KafkaTarget(box_of(scenario))
                target.start()
                stack.callback(target.stop)
                create_internal_topics(target)
            return running[is_frozen]

        yield of


def one(name: str, seed: int, out: Path, target: KafkaTarget | None) -> str:
    """Run a scenario against a cluster of its own, or against this Kafka."""
    with ExitStack() as stack:
        if target is not None:
            control = stack.enter_context(kafka_control(target, load_scenario(name)))
            where: dict[str, Any] = {"bootstrap_server": target.bootstrap_servers, "control": control}
            stack.enter_context(patch.object(cli, "ControlTap", return_value=None))  # Kafka has no journal
        else:
            journal = out.with_suffix(".jsonl")
            options = ("--port", "0", "--control-port", "0", "--journal", str(journal))
            serving = stack.enter_context(Serving(*options, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            servers = ",".join(f"{broker['host']}:{broker['port']}" for broker in serving.facts["brokers"])
            where = {"bootstrap_server": servers, "control": serving.facts["control_url"], "journal": journal}
        try:
            seconds = 5.0 if name == "soak" else None
            return KINDS[cli.run(name, out=out, seed=seed, seconds=seconds, **where)]
        except RunStopped as stopped:  # by a signal, which is meant for all runs
            sys.exit(str(stopped))
        except USER_ERRORS as error:
            print(f"{type(error).__name__}: {error}")
            return UNABLE


def told(out: Path) -> str:
    """Return the verdict's text, if there is one."""
    with suppress(OSError):
        return (out / "verdict.md").read_text(encoding="utf-8")
    return ""


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Run so many processes that are always busy."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def standing_still(random: Random, stops: list[int]) -> Iterator[None]:
    """Stop workers of Spark's now and then; `stops` gets how long each was, in milliseconds."""
    ended = threading.Event()

    def body() -> None:
        while not ended.wait(random.randint(*GO_ON_MS) / 1000):
            workers = sorted(python_workers())
            if not workers:
                continue
            stopped = random.sample(workers, random.randint(1, len(workers)))  # some of them have nothing to do
            stop_ms = random.randint(*STOP_MS)
            try:
                tell(stopped, signal.SIGSTOP)
                ended.wait(stop_ms / 1000)
            finally:
                tell(stopped, signal.SIGCONT)
            stops.append(stop_ms)

    thread = threading.Thread(target=body, name="stops")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def tell(workers: Sequence[int], number: signal.Signals) -> None:
    for worker in workers:
        with suppress(ProcessLookupError):
            os.kill(worker, number)


def python_workers() -> Iterator[int]:
    """The processes in which Spark runs our tasks: the children of its daemons, below us."""
    parents = dict(processes())
    for process, parent in parents.items():
        if is_daemon(parent) and is_daemon(process) and os.getpid() in ancestors(process, parents):
            yield process


def processes() -> Iterator[tuple[int, int]]:
    """Each, and its parent."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                yield int(folder.name), int((folder / "stat").read_text().rpartition(")")[2].split()[1])


def ancestors(process: int, parents: dict[int, int]) -> Iterator[int]:
    while (process := parents.get(process, 0)) > 1:
        yield process


def is_daemon(process: int) -> bool:
    """A fork of Spark's daemon has its command line."""
    with suppress(OSError):
        return b"pyspark.daemon" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False


def _options(argv: Sequence[str]) -> argparse.Namespace:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m tests.honest", description=__doc__, formatter_class=raw)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no other run after so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--busy", type=int, default=4, help="busy loops")
    parser.add_argument("--kafka", action="store_true", help="Apache Kafka in the place of fakebroker")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="default: all that are bundled")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
