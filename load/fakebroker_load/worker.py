"""What a Spark task does: send its share of the plan, and give one row back for every request.

Theory   A task drives all its connections in one event loop. It connects and encodes everything first, then agrees
         with the other tasks on one start, a little in the future, and only then sends. All tasks must therefore run
         at the same time and on one machine: their times are from that machine's monotonic clock.
         `run` is a plain function from Arrow batches to Arrow batches; tests call it without Spark.
Units    *_us is microseconds after the common start of the run.
"""

from __future__ import annotations

import asyncio
import gc
import time
import zlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pyarrow as pa

from fakebroker.protocol.errors import ProtocolError
from fakebroker_load.log import make_key
from fakebroker_load.wire.client import Connection, Exchange, Outcome, connect, drive
from fakebroker_load.wire.messages import ProduceAnswer, decode_produce, encode_produce

CONNECTING_AT_ONCE = 64  # below the usual listen backlog of 128
REPORT_EVERY_S = 0.2

RESULT_SCHEMA = pa.schema(
    [
        pa.field("run", pa.string()),
        pa.field("group", pa.string()),
        pa.field("connection", pa.int32()),
        pa.field("sequence", pa.int32()),
        pa.field("correlation_id", pa.int32()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("acks", pa.int16()),
        pa.field("timeout_ms", pa.int32()),
        pa.field("intended_us", pa.int64()),
        pa.field("sent_us", pa.int64()),  # null: not sent
        pa.field("answered_us", pa.int64()),  # null: not answered
        pa.field("error_code", pa.int16()),
        pa.field("base_offset", pa.int64()),
        pa.field("outcome", pa.string()),
        pa.field("expected_error", pa.int16()),  # null: there must be no answer
        pa.field("must_wait", pa.bool_()),
        pa.field("value_crc", pa.int64()),  # of the record's value, as it was sent
    ]
)

Row = dict[str, Any]
Agree = Callable[[int], int]  # when this task is ready -> when all start; both time.monotonic_ns
Report = Callable[[int, int], None]  # how many requests are sent and how many are done, so far, of this task
T = TypeVar("T")


def start_now(ready_ns: int) -> int:
    """The agreement of a task that is alone."""
    return ready_ns


def run(
    batches: Iterator[pa.RecordBatch],
    *,
    run_id: str = "",
    agree: Agree = start_now,
    report: Report = lambda sent, done: None,
    grace_ms: int = 5_000,
) -> Iterator[pa.RecordBatch]:
    """Send the planned requests (plan.py) and yield their results. `run_id` stands in the key of each record, so that
    it is known again in the log (log.py); `grace_ms` is how long after its due time an
    answer is still waited for."""
    plan = [row for batch in batches for row in batch.to_pylist()]
    exchanges = [make_exchange(row, run_id) for row in plan]
    # The collector would stop the loop in the middle of the measurement, to find nothing.
    gc.collect()
    gc.disable()
    try:
        start_ns = run_in_loop(send_all(plan, exchanges, agree, report, grace_ms))
    finally:
        gc.enable()
    results = [make_result(row, exchange, start_ns) for row, exchange in zip(plan, exchanges, strict=True)]
    yield pa.RecordBatch.from_pylist(results, schema=RESULT_SCHEMA)


def run_in_loop(main: Coroutine[Any, Any, T]) -> T:
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)


def make_value(row: Row) -> bytes:
    """A text that is like no other of the run, made up to the size that is asked for."""
    name = f"{row['run']}/{row['connection']}/{row['sequence']}".encode()
    return name.ljust(row["record_bytes"], b".")[: row["record_bytes"]]


def make_exchange(row: Row, run_id: str) -> Exchange:
    return Exchange(
        correlation_id=row["correlation_id"],
        request=encode_produce(
            correlation_id=row["correlation_id"],
            topic=row["topic"],
            partition=row["partition"],
            acks=row["acks"],
            timeout_ms=row["timeout_ms"],
            key=make_key(run_id, row["connection"], row["sequence"]),
            value=make_value(row),
            timestamp_ms=int(time.time() * 1000),
        ),
        wants_answer=row["acks"] != 0,
        timeout_ms=row["timeout_ms"],
        intended_ns=row["intended_us"] * 1000,
    )


async def send_all(plan: list[Row], exchanges: list[Exchange], agree: Agree, report: Report, grace_ms: int) -> int:
    """Drive every connection of the plan to its end; the start of the run, as time.monotonic_ns."""
    first_rows: dict[int, Row] = {}
    by_connection: dict[int, list[Exchange]] = {}
    for row, exchange in zip(plan, exchanges, strict=True):
        first_rows.setdefault(row["connection"], row)
        by_connection.setdefault(row["connection"], []).append(exchange)
    at_once = asyncio.Semaphore(CONNECTING_AT_ONCE)

    async def make(row: Row) -> Connection | None:
        async with at_once:
            return await connect(row["host"], row["port"])

    connections = dict(zip(first_rows, await asyncio.gather(*map(make, first_rows.values())), strict=True))
    start_ns = await asyncio.to_thread(agree, time.monotonic_ns())
    reporter = asyncio.create_task(report_progress(exchanges, report))
    await asyncio.gather(
        *(
            drive(
                connection,
                by_connection[number],
                start_ns=start_ns,
                pipelined=first_rows[number]["pipelined"],
                grace_ms=grace_ms,
            )
            for number, connection in connections.items()
            if connection is not None
        )
    )
    reporter.cancel()
    report(*count(exchanges))
    return start_ns


def count(exchanges: list[Exchange]) -> tuple[int, int]:
    sent = sum(exchange.sent_ns is not None for exchange in exchanges)
    done = sum(exchange.outcome not in (Outcome.MISSING, Outcome.NOT_SENT) for exchange in exchanges)
    return sent, done


async def report_progress(exchanges: list[Exchange], report: Report) -> None:
    while True:
        report(*count(exchanges))
        await asyncio.sleep(REPORT_EVERY_S)


def make_result(row: Row, exchange: Exchange, start_ns: int) -> Row:
    """The result row of a request. An answer that is not about this request's partition is garbled."""
    outcome = exchange.outcome
    answer: ProduceAnswer | None = None
    if exchange.answer is not None:
        try:
            answer = decode_produce(exchange.answer)
        except ProtocolError:
            outcome = Outcome.GARBLED
        else:
            if (answer.topic, answer.partition) != (row["topic"], row["partition"]):
                outcome = Outcome.GARBLED
    kept = {name: row[name] for name in RESULT_SCHEMA.names if name in row}
    return kept | {
        "sent_us": after_start_us(exchange.sent_ns, start_ns),
        "answered_us": after_start_us(exchange.answered_ns, start_ns),
        "error_code": None if answer is None else answer.error_code,
        "base_offset": None if answer is None else answer.base_offset,
        "outcome": str(outcome),
        "value_crc": zlib.crc32(make_value(row)),
    }


def after_start_us(time_ns: int | None, start_ns: int) -> int | None:
    return None if time_ns is None else (time_ns - start_ns) // 1000
