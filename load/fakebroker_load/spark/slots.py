"""A check whether a cluster can run the load: enough slots, our code and its needs, one folder for results.

Theory   All tasks of a load run at the same time, or Spark does not begin it. Spark itself waits silently for slots,
         for ten minutes. So slots are counted before anything is created or sent. Executors come one after another.
         Without a given number of tasks, the slots are taken when no more come. Then one task in each slot checks its
         executor (probe.py).
Errors   NotReady, with one sentence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from uuid import uuid4

from pyspark import BarrierTaskContext, SparkContext
from pyspark.sql import SparkSession

from fakebroker.extras import how_to_install
from fakebroker_load.spark.failures import told
from fakebroker_load.spark.master import is_local
from fakebroker_load.spark.probe import Executor, look
from fakebroker_load.spark.shipping import NEEDED

WAIT_S = 8.0
QUIET_S = 1.5
POLL_S = 0.1


class NotReady(Exception):
    """The cluster cannot carry the run; the message is for the user."""


def count_slots(context: SparkContext) -> int:
    """Return how many tasks can run at the same time on the present executors."""
    scala = context._jsc.sc()  # Spark has no public method for this number, with which it checks barrier stages
    return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))


def await_slots(
    count: Callable[[], int],
    master: str,
    wanted: int | None,
    wait_s: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Return the wanted number of slots, or those that come. Wait `wait_s` at most. Raises NotReady."""
    deadline = changed = clock()
    deadline += wait_s
    seen = 0
    while True:
        now, slots = clock(), count()
        if slots != seen:
            seen, changed = slots, now
        if slots >= (wanted or 1) and (wanted or now - changed >= QUIET_S or is_local(master)):
            return wanted or slots
        if is_local(master):  # no more will come
            raise NotReady(f"{master} has {slots} slots, and --tasks {wanted} need {wanted} at the same time.")
        if now >= deadline:
            break
        sleep(POLL_S)
    if seen and wanted is None:
        return seen
    have = f"{seen} slot{'s' if seen != 1 else ''}" if seen else "no executor"
    need = f"--tasks {wanted} need {wanted} slots at the same time" if wanted else "the load needs one slot at least"
    raise NotReady(f"{master} has given {have} within {wait_s:g} s, and {need}; --wait-for-slots waits longer.")


def make_ready(
    spark: SparkSession,
    modules: Sequence[str],
    *,
    wanted: int | None = None,
    wait_s: float = WAIT_S,
    shared: Path | None = None,
) -> int:
    """Return how many tasks can run at the same time: `wanted`, or all slots. `modules` are ours that the tasks import.
    `shared` is the folder to which they write. Raises NotReady, SparkFailed."""
    context = spark.sparkContext
    master = context.master or ""
    slots = await_slots(lambda: count_slots(context), master, wanted, wait_s)
    if is_local(master):
        return slots  # the same Python and the same disk
    token = None if shared is None else shared / f".seen-{uuid4().hex}"
    if token is not None:
        token.touch()
    try:
        name = None if token is None else str(token)
        needed, ours = tuple(NEEDED), tuple(modules)

        def ask(_: Iterable[int]) -> Iterable[Executor]:
            BarrierTaskContext.get().barrier()  # otherwise one slot would run all
            yield look(needed, ours, name)

        with told("looking at the executors"):
            executors = context.parallelize(range(slots), slots).barrier().mapPartitions(ask).collect()
    finally:
        if token is not None:
            token.unlink(missing_ok=True)
    for executor in executors:
        complain(executor, shared)
    return slots


def complain(executor: Executor, shared: Path | None) -> None:
    """Raise NotReady if the executor cannot do its part."""
    if executor.missing:
        lacks = ", ".join(dict.fromkeys(executor.missing))
        raise NotReady(
            f"The executors' Python on {executor.host} ({executor.python}, {executor.version}) lacks {lacks}: "
            f"{how_to_install('load')} brings it there, or name another one with PYSPARK_PYTHON."
        )
    if not executor.sees:
        raise NotReady(
            f"The executor on {executor.host} does not see the folder {shared}: results need one that driver and "
            "executors share under the same name."
        )
