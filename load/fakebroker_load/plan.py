"""The plan of a run: one row for each connection. Each row yields its requests one at a time.

Theory   Each connection sends its requests in order. The scenario and the seed alone determine the requests and their
         times, whatever the broker does. So lateness shows as sent - intended (no coordinated omission). A new group
         leaves the others unchanged. The task that sends requests also makes them, so neither driver nor task ever
         holds them all.
           Closed   Request k is intended `pause_ms` after the due time of the response that makes room for it. It is
                    handled at intended(k), or at due(k-1) if that is later: Kafka handles one request of a connection
                    at a time. The response is due then, or a timeout later if the group says that it waits.
           Open     The group has `arrivals` (arrivals.py), and no request waits for a response.
Units    intended_us is microseconds after the common start of the run.
"""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from fakebroker_load.arrivals import parse_arrivals, read_trace
from fakebroker_load.scenario.batches import ABORT
from fakebroker_load.scenario.model import NEVER, LoadScenario, LoadScenarioError, RequestGroup
from fakebroker_load.scenario.reads import READ_COMMITTED, READERS, PartitionToRead, ReaderOptions

MAX_UNANSWERED = 10_000  # per connection in the open model; then it waits, and the delay shows

SCHEMA = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        pa.field("group", pa.string(), nullable=False),
        pa.field("connection", pa.int32(), nullable=False),  # number in the run
        pa.field("number", pa.int32(), nullable=False),  # number in the group
        pa.field("connections", pa.int32(), nullable=False),  # number of the group's connections
        pa.field("host", pa.string(), nullable=False),
        pa.field("port", pa.int32(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("parts", pa.string(), nullable=False),  # of each request: JSON of [topic, partition, expected error]
        pa.field("records_per_batch", pa.int32(), nullable=False),
        pa.field("codec", pa.string(), nullable=False),
        pa.field("headers", pa.int32(), nullable=False),
        pa.field("idempotent", pa.bool_(), nullable=False),
        pa.field("transaction", pa.string()),  # how it ends; null: no transaction
        pa.field("acks", pa.int16(), nullable=False),
        pa.field("record_bytes", pa.int32(), nullable=False),
        pa.field("pipelined", pa.int32(), nullable=False),
        pa.field("requests", pa.int32(), nullable=False),
        pa.field("first_correlation_id", pa.int32(), nullable=False),
        pa.field("seed", pa.int64(), nullable=False),
        pa.field("timeout_low_ms", pa.int32(), nullable=False),
        pa.field("timeout_high_ms", pa.int32(), nullable=False),
        pa.field("first_us", pa.int64(), nullable=False),
        pa.field("pause_ms", pa.int32(), nullable=False),
        pa.field("process", pa.string()),  # null: the closed model
        pa.field("rate", pa.float64()),
        pa.field("burst", pa.int32()),
        pa.field("every_ms", pa.int32()),
        pa.field("steps", pa.list_(pa.list_(pa.float64()))),
        pa.field("trace", pa.list_(pa.int64())),  # of this connection
        pa.field("expected_error", pa.int16()),  # null: there must be no response
        pa.field("must_wait", pa.bool_(), nullable=False),
        pa.field("due_low_us", pa.int64()),  # null: due when it is handled, or after its timeout
        pa.field("due_high_us", pa.int64()),
        pa.field("also", pa.list_(pa.string())),  # other right answers: error codes and outcomes
        pa.field("written", pa.string()),  # once or never, whatever the response; null: by the response
        pa.field("client_id", pa.string(), nullable=False),
        pa.field("client", pa.string(), nullable=False),
        pa.field("generation", pa.string(), nullable=False),
        pa.field("settings", pa.string(), nullable=False),  # JSON, with Kafka's names
        pa.field("bootstrap", pa.string(), nullable=False),  # brokers for a producer, its partition's leader first
        pa.field("source", pa.string()),  # of a transform: the topic that it reads, and its leader
        pa.field("source_host", pa.string()),
        pa.field("source_port", pa.int32()),
        pa.field("per_transaction", pa.int32(), nullable=False),
        pa.field("fail_every", pa.int32(), nullable=False),
        pa.field("reading", pa.string()),  # of a reader: its partitions and options, as JSON (scenario/reads.py)
    ]
)

Leaders = Mapping[tuple[str, int], tuple[str, int]]  # (topic, partition) -> (host, port)
Starts = Mapping[tuple[str, int], int]  # (topic, partition) -> its log end before the load
Row = dict[str, Any]


class PlannedRequest(NamedTuple):
    """A request of the plan."""

    number: int  # on its connection, from 0
    correlation_id: int
    timeout_ms: int
    intended_us: int


def plan_connections(
    scenario: LoadScenario,
    leaders: Leaders,
    seed: int,
    starts: Starts | None = None,
    bootstrap: Sequence[tuple[str, int]] = (),
) -> pa.Table:
    """Return a row for every connection of the scenario. Connections and correlation ids are numbered through the run.
    A reader begins at `starts`, by default at 0. `bootstrap` are more brokers for the producers."""
    rows: list[Row] = []
    first_correlation_id = 1
    for group in scenario.groups:
        common = _common(scenario, group, seed)
        trace = _trace(group)
        if group.client in READERS:
            common["reading"] = _reading(scenario, group, leaders, starts or {})
        for number in range(group.connections):
            partition = number % group.partitions
            host, port = leaders[group.topic, partition]
            own = {
                "connection": len(rows),
                "number": number,
                "host": host,
                "port": port,
                "partition": partition,
                "parts": json.dumps(_parts(group, partition, leaders)),
                "bootstrap": _bootstrap((host, port), leaders, bootstrap),
                "first_correlation_id": first_correlation_id,
                "first_us": group.start_ms * 1000 + group.ramp_ms * 1000 * number // group.connections,
                "trace": trace[number :: group.connections],
            }
            if group.source is not None:
                own["source_host"], own["source_port"] = leaders[group.source, partition]
            rows.append(common | own)
            first_correlation_id += group.requests_per_connection
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _parts(group: RequestGroup, first: int, leaders: Leaders) -> list[tuple[str, int, int | None]]:
    """Return the partitions of each request of a connection, with the errors that are expected. One broker leads
    them."""
    parts: list[tuple[str, int, int | None]] = []
    for topic, expected in group.expected.items():
        places = [(topic, (first + at) % group.partitions) for at in range(group.partitions)]
        led = [place for place in places if leaders[place] == leaders[group.topic, first]]
        if len(led) < group.partitions_per_request:
            raise LoadScenarioError(
                f"The group {group.name!r} needs {group.partitions_per_request} partitions of the topic {topic!r} "
                f"in a request, and the leader of {group.topic}-{first} leads {len(led)}."
            )
        parts += [(*place, expected) for place in led[: group.partitions_per_request]]
    return parts


def _bootstrap(first: tuple[str, int], leaders: Leaders, others: Sequence[tuple[str, int]]) -> str:
    """Return several brokers: any may be gone before the producer has asked for its first metadata."""
    places = dict.fromkeys([first, *sorted(set(leaders.values())), *others])
    return ",".join(f"[{host}]:{port}" for host, port in places)


def _common(scenario: LoadScenario, group: RequestGroup, seed: int) -> Row:
    arrivals = group.arrivals
    low, high = group.timeout_ms
    return {
        "run": scenario.name,
        "group": group.name,
        "connections": group.connections,
        "topic": group.topic,
        "acks": group.acks,
        "records_per_batch": group.records_per_batch,
        "codec": group.compression,
        "headers": group.headers,
        "idempotent": group.idempotent or group.transaction is not None,
        "transaction": group.transaction,
        "record_bytes": group.record_bytes,
        "pipelined": group.pipelined if arrivals is None else MAX_UNANSWERED,
        "requests": group.requests_per_connection,
        "seed": seed,
        "timeout_low_ms": low,
        "timeout_high_ms": high,
        "pause_ms": group.pause_ms,
        "process": arrivals and arrivals.process,
        "rate": arrivals and arrivals.rate,
        "burst": arrivals and arrivals.burst,
        "every_ms": arrivals and arrivals.every_ms,
        "steps": arrivals and [list(step) for step in arrivals.steps],
        "expected_error": group.expected_error(),
        "must_wait": group.waits,
        "due_low_us": group.due_ms and group.due_ms[0] * 1000,
        "due_high_us": group.due_ms and group.due_ms[1] * 1000,
        "also": group.right_answers(),
        "written": NEVER if group.transaction == ABORT else group.written,
        "client_id": group.client_id,
        "client": group.client,
        "generation": group.generation,
        "settings": json.dumps(dict(group.settings)),
        "source": group.source,
        "per_transaction": group.per_transaction,
        "fail_every": group.fail_every,
    }


def _reading(scenario: LoadScenario, group: RequestGroup, leaders: Leaders, starts: Starts) -> str:
    parts = tuple(
        PartitionToRead(
            at, *leaders[group.topic, at], starts.get((group.topic, at), 0), scenario.records_to(group.topic, at)
        )
        for at in range(group.partitions)
    )
    return ReaderOptions(
        parts,
        is_committed=group.isolation == READ_COMMITTED,
        is_transactional=group.topic in scenario.transactional,
        fetch_bytes=group.fetch_bytes,
        records_per_s=group.records_per_s,
        until_ms=group.until_ms,
        session_ms=group.session_ms,
        life_ms=group.life_ms,
        vanish_every=group.vanish_every,
    ).as_json()


def _trace(group: RequestGroup) -> list[int]:
    if group.arrivals is None or group.arrivals.process != "trace":
        return []
    try:
        return read_trace(group.arrivals.file, group.requests)
    except ValueError as error:
        raise LoadScenarioError(f"The group {group.name!r} {error}.") from None


def requests_of(row: Row) -> Iterator[PlannedRequest]:
    """Return the requests of a connection (a row of SCHEMA), in order. Each is made when the iterator reaches it."""
    timeouts = draw_timeouts(row)
    times = _closed(row, timeouts) if row["process"] is None else zip(timeouts, _open(row), strict=False)
    for number, (timeout_ms, intended_us) in enumerate(times):
        yield PlannedRequest(number, row["first_correlation_id"] + number, timeout_ms, intended_us)


def draw_timeouts(row: Row) -> Iterator[int]:
    """Return the timeouts of a connection. They depend only on the seed, its group and its number in the group."""
    draw = random.Random(f"{row['seed']}/{row['group']}/{row['number']}")
    for _ in range(row["requests"]):
        yield draw.randint(row["timeout_low_ms"], row["timeout_high_ms"])


def _open(row: Row) -> Iterator[int]:
    given = {name: row[name] for name in ("rate", "burst", "every_ms", "steps") if row[name]}
    arrivals = parse_arrivals(
        {"process": row["process"], **given, **({"file": ""} if row["process"] == "trace" else {})}
    )
    draw = random.Random(f"{row['seed']}/{row['group']}/{row['number']}/arrivals")
    times_us = arrivals.times_us(row["number"], row["connections"], draw, row["trace"])
    return (row["first_us"] + time_us for time_us in islice(times_us, row["requests"]))


def _closed(row: Row, timeouts_ms: Iterator[int]) -> Iterator[tuple[int, int]]:
    """Return (timeout_ms, intended_us) of each request of a connection."""
    due_us: deque[int] = deque(maxlen=row["pipelined"])
    for timeout_ms in timeouts_ms:
        has_room = len(due_us) < row["pipelined"]
        intended_us = row["first_us"] if has_room else due_us[0] + row["pause_ms"] * 1000
        handled_us = max(intended_us, due_us[-1]) if due_us else intended_us
        due_us.append(max(handled_us + (timeout_ms * 1000 if row["must_wait"] else 0), row["due_high_us"] or 0))
        yield timeout_ms, intended_us


def to_frame(spark: SparkSession, plan: pa.Table, slots: int) -> DataFrame:
    """Return the plan as a DataFrame of `slots` partitions, with the connections distributed evenly."""
    frame = spark.createDataFrame(plan)
    return frame.repartitionById(slots, frame["connection"]).sortWithinPartitions("connection")
