"""Messages for the user when Spark gives up a job: one sentence, not the JVM's stack.

Source   The words of Spark 4.3: TaskSetManager (ExecutorLostFailure), PythonRunner ("Python worker exited
         unexpectedly"), DAGScheduler ("Job aborted"); and of the system's errors as Java passes them on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

_FULL = ("No space left on device", "Disk quota exceeded", "File too large")
_CAUSES = (  # in this order; the first match is nearest to the cause
    (re.compile("|".join(_FULL)), "there is no room left where Spark writes ({found})"),
    (
        re.compile(r"Cannot run program \"([^\"]*)\""),
        "the executors have no Python at {found}; PYSPARK_PYTHON names it",
    ),
    (
        re.compile(r"PYTHON_VERSION_MISMATCH[^\n]*?(\d+\.\d+)[^\d\n]+(\d+\.\d+)"),
        "the executors' Python is another than the driver's ({found}); PYSPARK_PYTHON names it",
    ),
    (re.compile(r"No module named '([^']+)'"), "the executors' Python lacks {found}"),
    (re.compile(r"ClockUnknown: ([^\n]*[^\n.])"), "{found}"),
    (re.compile("load is not repeated"), "a task was lost in the middle, and a load is not repeated"),
    (re.compile("Python worker exited unexpectedly"), "a Python process of Spark's ended in the middle"),
    (re.compile(r"ExecutorLostFailure|ExecutorDeadException|executor \d+ (?:exited|lost)"), "an executor was lost"),
    (
        re.compile(r"SparkContext (?:was|has been) (?:shut down|stopped)"),
        "Spark ended: its master was lost, or took the slots away",
    ),
)


_RAISED = re.compile(r"PythonException: Traceback[^\0]*?\n(\w[\w.]*: [^\n]*[^\n.])")


class SparkFailed(Exception):
    """Spark gave up a job, or is gone; the message is for the user."""


@contextmanager
def told(doing: str) -> Iterator[None]:
    """Turn exceptions of Spark and py4j in the block into SparkFailed."""
    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise SparkFailed(f"Spark broke off while {doing}: {cause_of(str(error))}.") from error
    except (ConnectionError, EOFError) as error:
        raise SparkFailed(f"Spark broke off while {doing}: its JVM is gone ({error}).") from error


@contextmanager
def cancelled_if_left(spark: SparkSession) -> Iterator[None]:
    """Cancel all jobs if the block is left by an exception."""
    try:
        yield
    except BaseException:
        with suppress(Exception):  # a dead JVM has cancelled them
            spark.sparkContext.cancelAllJobs()
        raise


def cause_of(text: str) -> str:
    """Return the cause, as the end of a sentence."""
    for pattern, words in _CAUSES:
        if match := pattern.search(text):
            return words.format(found=" and ".join(match.groups()) or match[0])
    if match := _RAISED.search(text):
        return f"a task ended with {match[1]}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    near = [line for line in lines if line.startswith("Caused by: ")] or [
        line for line in lines if "Job aborted" in line
    ]
    return (near or lines or ["no reason given"])[0].removeprefix("Caused by: ").removeprefix(": ").rstrip(".")
