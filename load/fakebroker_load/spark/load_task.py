"""The task of a load, as Spark runs it: worker.py between a barrier and the clocks.

Theory   Through the barrier the tasks agree on one start, on the driver's clock, and each begins by its own clock. If
         Spark starts a task a second time, it does nothing. Its first try has sent requests. Sent again, they would be
         in the log twice, without a fault of the broker.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from uuid import uuid4

import pyarrow as pa
from pyspark import BarrierTaskContext

from fakebroker_load.progress import ProgressSender
from fakebroker_load.spark.clocks import Address, ClockOffset, ask, boot_id, offset_to, same_or, widened
from fakebroker_load.worker import run

# Spark checks once a second whether all tasks have arrived at the barrier, so they leave it up to that much apart.
BARRIER_SPREAD_NS = 1_500_000_000

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class SecondTry(Exception):
    """Spark has lost a task and begins the load again."""


def make_task(driver: Address, grace_ms: int, run_id: str) -> Task:
    """Return the function for Spark's workers. `driver` is the address of the ProgressListener. The function raises
    SecondTry, ClockUnknown."""
    booted = boot_id()

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = BarrierTaskContext.get()
        number = context.partitionId()
        begin(driver, number)
        same = bool(booted) and booted == boot_id()
        before = same_or(offset_to(driver), same)

        def agree(ready_ns: int) -> int:
            start_ns = max(map(int, context.allGather(str(ready_ns + before.ns)))) + BARRIER_SPREAD_NS
            sender.starts(start_ns)
            return start_ns - before.ns

        lateness: list[int | None] = []
        sender = ProgressSender(driver, number)
        error_us = -(-before.error_ns // 1000)
        try:
            for batch in run(
                batches, run_id=run_id, agree=agree, report=sender, grace_ms=grace_ms, tell_late_ms=lateness.append
            ):
                yield widened(batch, error_us)
            tell(driver, number, before, same_or(offset_to(driver), same), *lateness)
        finally:
            sender.close()

    return task


def begin(driver: Address, task: int) -> None:
    """Ask the driver whether this is the first try of the task, since its context does not know. Raises SecondTry."""
    mine = uuid4().hex
    question = ["begin", task, mine]
    if ask(driver, question, lambda answer: answer[:2] == question[:2])[2] != mine:
        raise SecondTry("A task was lost, and a load is not repeated.")


def tell(driver: Address, task: int, before: ClockOffset, after: ClockOffset, late_ms: int | None) -> None:
    """Report the offsets of this task's clock, and how late its machine made it."""
    question = ["clock", task, socket.gethostname(), list(before), list(after), late_ms]
    ask(driver, question, lambda answer: answer == ["clock", task])
