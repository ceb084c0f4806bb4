"""The Spark cluster of a command, from its options, ready for work."""

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

# Our modules that the tasks import: of a load, of reading back, of the farm and of the odds.
MODULES = (
    "fakebroker_load.spark.load_task",
    "fakebroker_load.log",
    "fakebroker.testing.seeds",
    "fakebroker.testing.odds",
)


@dataclass(frozen=True)
class SparkCluster:
    """The cluster of a command. `tasks` run at the same time; None means all slots that come within `wait_s`.
    `settings` are Spark's."""

    master: str | None = None
    tasks: int | None = None
    wait_s: float = WAIT_S
    settings: dict[str, str] = field(default_factory=dict)


def settings_of(given: Sequence[str] | None) -> dict[str, str]:
    """Parse KEY=VALUE, as in `spark-submit --conf`. Raises MasterError."""
    settings = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not equals or not key.startswith("spark."):
            raise MasterError(f"--spark-conf {text!r} is not KEY=VALUE, as in spark.executor.memory=2g.")
        settings[key] = value
    return settings


@contextmanager
def ready_cluster(
    cluster: SparkCluster, console: Console, shared: Path | None, rows: int = 0
) -> Iterator[tuple[SparkSession, int]]:
    """Yield a session for the block, and how many tasks can run at the same time. `shared` is the folder to which tasks
    write results, if they do, and `rows` how many. Raises NotReady, and the errors of `start_spark`."""
    with ExitStack() as stack:
        with console.status("starting Spark"):
            spark = stack.enter_context(spark_session(cluster.master, cluster.settings, rows))
        with console.status("waiting for slots, and looking at the executors"):
            slots = make_ready(spark, MODULES, wanted=cluster.tasks, wait_s=cluster.wait_s, shared=shared)
        yield spark, slots
