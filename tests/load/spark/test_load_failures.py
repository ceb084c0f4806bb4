"""Long errors of Spark become one sentence."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from fakebroker_load.spark.failures import SparkFailed, cause_of, told

ABORTED = "An error occurred while calling o1.a.\n: org.apache.spark.SparkException: Job aborted due to stage failure: "


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            f"{ABORTED}x\nCaused by: java.io.IOException: No space left on device\n\tat a.b",
            "there is no room left where Spark writes (No space left on device)",
        ),
        (
            f"{ABORTED}Lost task 0.0: ExecutorLostFailure (executor 1 exited caused by one of the running tasks)",
            "an executor was lost",
        ),
        (
            f'{ABORTED}x\nCaused by: java.io.IOException: Cannot run program "/no/python": error=2',
            "the executors have no Python at /no/python; PYSPARK_PYTHON names it",
        ),
        ("ModuleNotFoundError: No module named 'kio'\n", "the executors' Python lacks kio"),
        (
            "pyspark.errors...: [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.10 than that in "
            "driver: 3.11, PySpark cannot run",
            "the executors' Python is another than the driver's (3.10 and 3.11); PYSPARK_PYTHON names it",
        ),
        (
            f"{ABORTED}y\norg...PythonException: Traceback (most recent call last):\n  File a\nKeyError: 'b'\n\n\tat c",
            "a task ended with KeyError: 'b'",
        ),
        (
            "fakebroker_load.spark.clocks.ClockUnknown: The executor on h gets no answer.\n",
            "The executor on h gets no answer",
        ),
        (f"{ABORTED}z.\nCaused by: java.lang.Error: why.\nCaused by: deeper", "java.lang.Error: why"),
        (f"{ABORTED}z.\n", "org.apache.spark.SparkException: Job aborted due to stage failure: z"),
        ("it fell", "it fell"),
        ("", "no reason given"),
    ],
)
def test_the_cause(text: str, cause: str) -> None:
    assert cause_of(text) == cause


def test_it_is_told_what_was_being_done() -> None:
    with pytest.raises(SparkFailed, match=r"^Spark broke off while working: it fell\.$"), told("working"):
        raise Py4JError("it fell")
    with pytest.raises(SparkFailed, match=r"its JVM is gone \(reset\)"), told("working"):
        raise ConnectionResetError("reset")
    with pytest.raises(ValueError, match="ours"), told("working"):
        raise ValueError("ours")
