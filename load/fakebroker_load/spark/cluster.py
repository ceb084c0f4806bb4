"""The cluster that a command asks for, as its options say, ready for work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console

from fakebroker_load.session import spark_session
from fakebroker_load.spark.master import MasterError
from fakebroker_load.spark.slots import WAIT_S, make_ready

# What the tasks of a load, of reading back, of the farm and of the odds import of ours.
MODULES = (
    "fakebroker_load.spark.load_task",
    "fakebroker_load.log",
    "fakebroker.testing.seeds",
    "fakebroker.testing.odds",
)


@dataclass(frozen=True)
class Cluster:
    """`tasks`: how many run at the same time, None: as many as there are slots, which are waited for `wait_s`;
    `settings`: Spark's."""

    master: str | None = None
    tasks: int | None = None
    wait_s: float = WAIT_S
    settings: dict[str, str] = field(default_factory=dict)


def settings_of(given: Sequence[str] | None) -> dict[str, str]:
    """Read KEY=VALUE, as `spark-submit --conf` has it. Raises MasterError."""
    settings = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not equals or not key.startswith("spark."):
            raise MasterError(f"--spark-conf {text!r} is not KEY=VALUE, as in spark.executor.memory=2g.")
        settings[key] = value
    return settings


@contextmanager
def ready_cluster(
    cluster: Cluster, console: Console, shared: Path | None, rows: int = 0
) -> Iterator[tuple[SparkSession, int]]:
    """A session for the time of the block, and how many tasks can run in it at the same time; `shared` is the folder
    that tasks write results to, if they do, and `rows` how many of them. Raises NotReady, and what `start_spark`
    raises."""
    with ExitStack() as stack:
        with console.status("starting Spark"):
            spark = stack.enter_context(spark_session(cluster.master, cluster.settings, rows))
        with console.status("waiting for slots, and looking at the executors"):
            slots = make_ready(spark, MODULES, wanted=cluster.tasks, wait_s=cluster.wait_s, shared=shared)
        yield spark, slots
