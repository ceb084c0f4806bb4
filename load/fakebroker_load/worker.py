"""The work of a Spark task: it sends the requests of its connections, and returns one row for every request.

Theory   A task drives all its connections in one event loop, in its own thread. It connects first, then agrees with the
         other tasks on one start, a little in the future, and only then sends. So all tasks must run at the same time.
         Times are on this machine's monotonic clock; `agree` converts them (spark/load_task.py).
         Each request is made when the one before it on its connection was sent, and becomes a row when its outcome is
         known. Rows go to Spark during the load, so a task holds only requests under way, however many there are.
         Progress is two counters, so no code visits all requests.
         `run` is a plain function from Arrow batches to Arrow batches; tests call it without Spark.
Units    *_us is microseconds after the common start of the run.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pyarrow as pa

from fakebroker_load.log import make_key
from fakebroker_load.plan import Row
from fakebroker_load.scenario.reads import MEMBER, READER
from fakebroker_load.scenario.senders import PRODUCER, RAW, TRANSFORM
from fakebroker_load.traffic.frozen import frozen
from fakebroker_load.traffic.machine_lateness import MachineLateness
from fakebroker_load.traffic.members import MemberDriver
from fakebroker_load.traffic.own_delay import OwnDelay
from fakebroker_load.traffic.producers import ProducerDriver
from fakebroker_load.traffic.raw import RawDriver
from fakebroker_load.traffic.readers import ReaderDriver
from fakebroker_load.traffic.rows import RowQueue, after_start_us, to_batch
from fakebroker_load.traffic.transactions import ProcessorDriver
from fakebroker_load.wire.client import Exchange, RequestOutcome

CONNECTING_AT_ONCE = 64  # below the usual listen backlog of 128
REPORT_EVERY_S = 0.2
# After this long, the thread that passes rows to Spark gives the loop its turn. Python's default of 5 ms would show as
# delay.
SWITCH_S = 0.000_5

Agree = Callable[[int], int]  # when this task is ready -> when all start; both time.monotonic_ns
Report = Callable[[int, int], None]  # numbers of requests of this task: sent, and done, so far
T = TypeVar("T")


def start_now(ready_ns: int) -> int:
    """Return the start for a task that is alone."""
    return ready_ns


def run(
    batches: Iterator[pa.RecordBatch],
    *,
    run_id: str = "",
    agree: Agree = start_now,
    report: Report = lambda sent, done: None,
    grace_ms: int = 5_000,
    tell_late_ms: Callable[[int | None], None] = lambda late_ms: None,
) -> Iterator[pa.RecordBatch]:
    """Send the requests of the planned connections (plan.SCHEMA), and yield their results (RESULT_SCHEMA) in any order.

    `run_id` is in the key of each record, which identifies it in the log (log.py). `grace_ms` is how long after its due
    time a response is still waited for. `tell_late_ms` gets the lateness that the machine caused."""
    results = RowQueue()
    load = Load([row for batch in batches for row in batch.to_pylist()], results, run_id, agree, report, grace_ms)
    some = False
    with measuring(), in_a_thread(load.send_all, results.close):
        for batch in results.batches():
            some = True
            yield batch
    if load.error is not None:
        raise load.error
    tell_late_ms(load.machine_late_ms)
    if not some:
        yield to_batch([])


@contextmanager
def measuring() -> Iterator[None]:
    """Keep the garbage collector from stopping the loop during the measurement: it skips present objects."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    try:
        with frozen():
            yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def in_a_thread(main: Callable[[], Coroutine[Any, Any, None]], ended: Callable[[], None]) -> Iterator[None]:
    """Run an event loop during the block. `ended` is called after all its work."""

    def body() -> None:
        try:
            run_in_loop(main())
        finally:
            ended()

    thread = threading.Thread(target=body, name="load", daemon=True)
    thread.start()
    yield
    thread.join()


def run_in_loop(main: Coroutine[Any, Any, T]) -> T:
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)


class Load:
    """The load of one task."""

    def __init__(
        self, connections: list[Row], results: RowQueue, run_id: str, agree: Agree, report: Report, grace_ms: int
    ) -> None:
        self._connections = connections
        self._own_delay = OwnDelay(results.add, {row["host"] for row in connections})
        self._run_id = run_id
        self._agree = agree
        self._report = report
        self._grace_ms = grace_ms
        self._start_ns = 0
        self._sent = 0
        self._done = 0
        self.error: BaseException | None = None
        self.machine_late_ms: int | None = None  # set at the end

    async def send_all(self) -> None:
        """Drive every connection of the plan to its end. Keep an error in `error`."""
        drivers = [self._driver(row) for row in self._connections]
        try:
            at_once = asyncio.Semaphore(CONNECTING_AT_ONCE)
            await asyncio.gather(*(driver.connect(at_once) for driver in drivers))
            self._start_ns = await asyncio.to_thread(self._agree, time.monotonic_ns())
            lateness = MachineLateness(threading.get_native_id())
            reporter = asyncio.create_task(self._report_progress(lateness))
            self._own_delay.start()
            await asyncio.gather(*(driver.send(self._start_ns, self._grace_ms) for driver in drivers))
            reporter.cancel()
            await self._own_delay.finish()
            self.machine_late_ms = lateness.take_ms()
            self._report(self._sent, self._done)
        except BaseException as error:  # the thread that waits for the rows raises it
            self.error = error
        finally:
            await asyncio.gather(*(driver.close() for driver in drivers))

    def _driver(self, row: Row) -> Driver:
        return CLIENTS[row["client"]](self, row, self._run_id)

    async def _report_progress(self, lateness: MachineLateness) -> None:
        while True:
            lateness.look()
            self._report(self._sent, self._done)
            await asyncio.sleep(REPORT_EVERY_S)

    def make_key(self, row: Row, sequence: int) -> bytes:
        return make_key(self._run_id, row["connection"], sequence)

    def has_sent(self) -> None:
        self._sent += 1

    def keep(self, row: Row, exchange: Exchange) -> None:
        self._done += exchange.outcome not in (RequestOutcome.MISSING, RequestOutcome.NOT_SENT)
        times = {
            "sent_us": after_start_us(exchange.sent_ns, self._start_ns),
            "answered_us": after_start_us(exchange.answered_ns, self._start_ns),
        }
        self._own_delay.hold(row | times, exchange.sent_ns, exchange.answered_ns)

    def note(self, row: Row, sent_ns: int | None, answered_ns: int | None, is_last: bool = False) -> None:
        """Keep a row of a reader. A reader counts as done with its last row."""
        self._done += is_last
        times = {
            "sent_us": after_start_us(sent_ns, self._start_ns),
            "answered_us": after_start_us(answered_ns, self._start_ns),
        }
        self._own_delay.hold(row | times, sent_ns, answered_ns)


Driver = RawDriver | ProducerDriver | ProcessorDriver | ReaderDriver | MemberDriver
CLIENTS: dict[str, type[Driver]] = {
    RAW: RawDriver,
    PRODUCER: ProducerDriver,
    TRANSFORM: ProcessorDriver,
    READER: ReaderDriver,
    MEMBER: MemberDriver,
}
