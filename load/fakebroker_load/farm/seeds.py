"""Simulate many seeds in Spark: seeds -> mapInArrow(run_seed) -> Parquet, and sum up the rows.

Shape    A row for each seed of each kind: its work, the rule that it broke if any, the commands that repeat it, and how
         often it reached each situation. `farm.json` has the sums.
Theory   A seed needs nothing but its number. There are more tasks than slots, so a long seed delays few others. Only
         sums and the first seeds that broke a rule are kept in memory.
Units    microseconds of a task's time, milliseconds of the simulation.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import pandas  # noqa: F401  # mapInArrow asks for it, but only when Spark runs: what is missing is told before
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from fakebroker.testing.seeds import names_of, run_seed
from fakebroker_load.progress import ProgressListener, ProgressSender
from fakebroker_load.spark.failures import told
from fakebroker_load.spark.master import LOOPBACK
from fakebroker_load.traffic.frozen import frozen

SEEDS_PARQUET = "seeds.parquet"
FARM_FILE = "farm.json"
TASKS_PER_SLOT = 16
MOST_BROKEN = 10  # that are reported
MOST_SHRUNK = 2  # in each task: one is enough to look at, and a broken broker breaks every seed
REPORT_EACH_S = 0.2
_RARELY = (100_000, 50, 1_000)  # rare collections within a seed; one follows each seed in any case

SEED_SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("seed", pa.int64()),
        ("steps", pa.int64()),
        ("requests", pa.int64()),
        ("produced", pa.int64()),
        ("virtual_ms", pa.int64()),
        ("took_us", pa.int64()),
        ("violation", pa.string()),
        ("again", pa.string()),
        ("shorter", pa.string()),
        ("situations", pa.map_(pa.string(), pa.int64())),
    ]
)
OnProgress = Callable[[int, int], None]  # seeds begun, seeds done


@dataclass(frozen=True)
class KindSum:
    """The sums over all seeds of a kind."""

    kind: str
    seeds: int
    steps: int
    requests: int
    produced: int
    virtual_ms: int
    took_us: int
    broken: int


@dataclass(frozen=True)
class ReachedSituation:
    """A situation: the number of seeds that reached it, and how often in all. Both are 0 if it is known and was never
    reached."""

    kind: str
    situation: str
    seeds: int
    times: int


@dataclass(frozen=True)
class BrokenSeed:
    """A seed that broke a rule."""

    kind: str
    seed: int
    violation: str
    again: str
    shorter: str


@dataclass(frozen=True)
class FarmSum:
    """The result of a farm. It is complete if there are `planned` seeds. `took_s` is wall time."""

    planned: int
    steps: int
    swarm: bool
    took_s: float
    kinds: list[KindSum]
    situations: list[ReachedSituation]
    broken: list[BrokenSeed]

    @property
    def seeds(self) -> int:
        return sum(kind_sum.seeds for kind_sum in self.kinds)

    @property
    def produced(self) -> int:
        return sum(kind_sum.produced for kind_sum in self.kinds)

    @property
    def broken_seeds(self) -> int:
        return sum(kind_sum.broken for kind_sum in self.kinds)

    @property
    def ok(self) -> bool:
        return self.seeds == self.planned and not self.broken_seeds

    def to_json(self) -> dict[str, object]:
        return asdict(self) | {"ok": self.ok}


def run_seeds(
    spark: SparkSession,
    out: Path,
    kinds: Sequence[str],
    seeds: range,
    steps: int,
    *,
    swarm: bool = True,
    shrinks: bool = True,
    on_progress: OnProgress = lambda begun, done: None,
) -> FarmSum:
    """Simulate all seeds of all kinds in Spark's tasks, and sum up. The rows stay in the folder `out`."""
    started = time.monotonic()
    planned = len(seeds) * len(kinds)
    tasks = max(1, min(len(seeds), TASKS_PER_SLOT * spark.sparkContext.defaultParallelism))
    frame = spark.range(seeds.start, seeds.stop, 1, tasks)
    host = spark.conf.get("spark.driver.host", LOOPBACK) or LOOPBACK  # where executors reach the driver
    with ProgressListener(on_progress, host) as listener, told("simulating"):
        task = make_task(listener.address, kinds, steps, swarm, shrinks)
        results = frame.mapInArrow(task, from_arrow_schema(SEED_SCHEMA))
        results.write.mode("overwrite").parquet(str(out / SEEDS_PARQUET))
    rows = spark.read.schema(from_arrow_schema(SEED_SCHEMA)).parquet(str(out / SEEDS_PARQUET))
    return sum_up(spark, rows, kinds, planned, steps, swarm, round(time.monotonic() - started, 1))


def make_task(
    progress: tuple[str, int], kinds: Sequence[str], steps: int, swarm: bool, shrinks: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark sends to its workers."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        sender = ProgressSender(progress, context.partitionId() if context is not None else 0)
        done = shrunk = 0
        told_s = 0.0
        thresholds = gc.get_threshold()
        gc.set_threshold(*_RARELY)
        try:
            with frozen():
                for batch in batches:
                    for seed, kind in product(batch.column(0).to_pylist(), kinds):
                        result = run_seed(kind, seed, steps, swarm, shrinks and shrunk < MOST_SHRUNK)
                        shrunk += bool(result.shorter)
                        done += 1
                        if time.monotonic() - told_s >= REPORT_EACH_S:
                            sender(done, done)
                            told_s = time.monotonic()
                        fields = result._asdict() | {"situations": list(result.situations.items())}
                        yield pa.RecordBatch.from_pylist([fields], schema=SEED_SCHEMA)
                        gc.collect()  # a cluster is a reference cycle
                sender(done, done)
        finally:
            gc.set_threshold(*thresholds)
            sender.close()

    return task


def sum_up(
    spark: SparkSession, rows: DataFrame, kinds: Sequence[str], planned: int, steps: int, swarm: bool, took_s: float
) -> FarmSum:
    """Sum up all rows."""
    sums = spark.sql(
        """
        SELECT kind, count(DISTINCT seed) AS seeds, sum(steps) AS steps, sum(requests) AS requests,
               sum(produced) AS produced, sum(virtual_ms) AS virtual_ms, sum(took_us) AS took_us,
               count_if(violation != '') AS broken
        FROM {rows} GROUP BY kind
        """,
        rows=rows,
    ).collect()
    reached = spark.sql(
        """
        SELECT kind, situation, count(*) AS seeds, sum(times) AS times
        FROM (SELECT kind, explode(situations) AS (situation, times) FROM {rows}) GROUP BY kind, situation
        """,
        rows=rows,
    ).collect()
    broken = spark.sql(
        """
        SELECT kind, seed, violation, again, shorter FROM {rows} WHERE violation != ''
        ORDER BY shorter = '', length(shorter), kind, seed LIMIT {most}
        """,
        rows=rows,
        most=MOST_BROKEN,
    ).collect()
    by_kind = {row["kind"]: KindSum(**row.asDict()) for row in sums}
    times = {(row["kind"], row["situation"]): ReachedSituation(**row.asDict()) for row in reached}
    known = [(kind, name) for kind in kinds for name in names_of(kind)]
    more = [place for place in times if place not in known]
    named = sorted([*known, *more], key=lambda place: (kinds.index(place[0]), place not in known))
    return FarmSum(
        planned,
        steps,
        swarm,
        took_s,
        [by_kind[kind] for kind in kinds if kind in by_kind],
        [times.get((kind, name), ReachedSituation(kind, name, 0, 0)) for kind, name in named],
        [BrokenSeed(**row.asDict()) for row in broken],
    )
