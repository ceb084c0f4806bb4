"""Progress of Spark's work on a terminal: a line with the tasks of the running stages, and the time so far."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyspark import StatusTracker
from pyspark.sql import SparkSession
from rich.console import Console
from rich.markup import escape

LOOK_EVERY_S = 0.5


@contextmanager
def watched(console: Console, spark: SparkSession, text: str) -> Iterator[None]:
    """Show Spark's progress during the block; `text` names the work. Without a terminal nothing is shown."""
    if not console.is_terminal:
        yield
        return
    tracker = spark.sparkContext.statusTracker()
    ended, began = threading.Event(), time.monotonic()
    with console.status(escape(text)) as status:

        def watch() -> None:
            with suppress(Exception):  # a dead JVM has nothing to show
                while not ended.wait(LOOK_EVERY_S):
                    status.update(escape(line_of(text, tracker, time.monotonic() - began)))

        thread = threading.Thread(target=watch, name="watching Spark", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def line_of(text: str, tracker: StatusTracker, seconds: float) -> str:
    stages = [stage for id_ in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(id_)) is not None]
    tasks = sum(stage.numTasks for stage in stages)
    done = sum(stage.numCompletedTasks for stage in stages)
    return f"{text}: {f'{done:,} of {tasks:,} tasks, ' if tasks else ''}{seconds:,.0f} s"
