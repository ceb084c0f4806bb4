"""Run many trials in Spark: seeds -> mapInArrow(run_trial) -> rows, and sum them up for each model.

Shape    A row for each seed of each model, collected at the driver. Rows are only counts, so a hundred thousand fit.
         `OddsSum` has the sums of a model.
Theory   The same task runs each seed with every model, so models see the same arrivals and failures.
Units    milliseconds of the simulation, microseconds of a task's time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pandas  # noqa: F401  # mapInArrow asks for it, but only when Spark runs: what is missing is told before
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from fakebroker.testing.odds import OddsModel, TrialResult, run_trial
from fakebroker_load.odds.rates import RateEstimate, rate_of
from fakebroker_load.progress import ProgressListener, ProgressSender
from fakebroker_load.spark.failures import SparkFailed, told
from fakebroker_load.spark.master import LOOPBACK

TASKS_PER_SLOT = 16
_WHOLE = tuple(name for name in TrialResult._fields if name not in ("errors", "story"))
TRIAL_SCHEMA = pa.schema(
    [
        ("model", pa.int64()),
        *((name, pa.int64()) for name in _WHOLE),
        ("errors", pa.map_(pa.string(), pa.int64())),
        ("story", pa.list_(pa.string())),
    ]
)
OnProgress = Callable[[int, int], None]  # trials begun, trials done

# Shares of a model: the count of events, and the count that it is a share of.
SHARES = {
    "lost": ("lost", "acknowledged"),
    "duplicated": ("duplicated", "sent"),
    "reordered": ("reordered", "sent"),
    "failed": ("failed", "sent"),
    "failed_and_written": ("written", "sent"),
    "unavailable": ("unavailable_ms", "partition_ms"),
}


@dataclass(frozen=True)
class OddsSum:
    """All trials of a model, in the order of their seeds. There is at least one."""

    model: OddsModel
    trials: list[TrialResult]

    def total(self, name: str) -> int:
        return sum(self._each(name))

    def rate(self, name: str) -> RateEstimate | None:
        """Return one of SHARES; None if its denominator is 0."""
        events, units = SHARES[name]
        return rate_of(self._each(events), self._each(units))

    def errors(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for trial in self.trials:
            counts.update(trial.errors)
        return counts

    def seed_with(self, name: str) -> int | None:
        """Return the first seed with such an event."""
        events, _ = SHARES[name]
        return next((trial.seed for trial in self.trials if getattr(trial, events)), None)

    def _each(self, name: str) -> list[int]:
        return [getattr(trial, name) for trial in self.trials]


def run_odds(
    spark: SparkSession,
    models: Sequence[OddsModel],
    seeds: range,
    *,
    tells: bool = False,
    on_progress: OnProgress = lambda begun, done: None,
) -> list[OddsSum]:
    """Run all seeds with all models in Spark's tasks. `tells`: results have stories."""
    tasks = max(1, min(len(seeds), TASKS_PER_SLOT * spark.sparkContext.defaultParallelism))
    frame = spark.range(seeds.start, seeds.stop, 1, tasks)
    host = spark.conf.get("spark.driver.host", LOOPBACK) or LOOPBACK  # where executors reach the driver
    with ProgressListener(on_progress, host) as listener, told("simulating"):
        task = make_task(listener.address, models, tells)
        rows = [row.asDict() for row in frame.mapInArrow(task, from_arrow_schema(TRIAL_SCHEMA)).collect()]
    if len(rows) != len(models) * len(seeds):
        raise SparkFailed(f"Spark gave {len(rows):,} results for {len(models) * len(seeds):,} trials.")
    by_model: list[list[TrialResult]] = [[] for _ in models]
    for row in sorted(rows, key=lambda row: int(row["seed"])):
        by_model[row.pop("model")].append(TrialResult(**row))
    return [OddsSum(model, trials) for model, trials in zip(models, by_model, strict=True)]


def make_task(
    progress: tuple[str, int], models: Sequence[OddsModel], tells: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark sends to its workers."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        sender = ProgressSender(progress, context.partitionId() if context is not None else 0)
        done = 0
        try:
            for batch in batches:
                for seed in batch.column(0).to_pylist():
                    for number, model in enumerate(models):
                        result = run_trial(model, seed, tells)
                        done += 1
                        sender(done, done)
                        fields = result._asdict() | {"model": number, "errors": list(result.errors.items())}
                        yield pa.RecordBatch.from_pylist([fields], schema=TRIAL_SCHEMA)
        finally:
            sender.close()

    return task
