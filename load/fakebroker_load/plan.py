"""Plan the requests of a run: one row each, before anything is sent.

Theory   Each connection sends its requests in order. Request k is intended `pause_ms` after the time at which the
         answer that makes room for it is due: due(k) = intended(k), or the answer of k-1 if that is later (Kafka
         handles one request of a connection at a time), plus the timeout where the group says that the answer
         waits for it. So the intended times follow from the scenario alone, whatever the broker does, and being
         late shows up as sent - intended (no coordinated omission).
         A plan depends on the scenario and the seed only; adding a group leaves the others as they were.
Units    intended_us is microseconds after the common start of the run.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from fakebroker_load.scenario import Group, Scenario

SCHEMA = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        pa.field("group", pa.string(), nullable=False),
        pa.field("connection", pa.int32(), nullable=False),
        pa.field("sequence", pa.int32(), nullable=False),
        pa.field("correlation_id", pa.int32(), nullable=False),
        pa.field("host", pa.string(), nullable=False),
        pa.field("port", pa.int32(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("acks", pa.int16(), nullable=False),
        pa.field("timeout_ms", pa.int32(), nullable=False),
        pa.field("record_bytes", pa.int32(), nullable=False),
        pa.field("pipelined", pa.int32(), nullable=False),
        pa.field("intended_us", pa.int64(), nullable=False),
        pa.field("expected_error", pa.int16()),  # null: there must be no answer
        pa.field("must_wait", pa.bool_(), nullable=False),
    ]
)

Leaders = Mapping[tuple[str, int], tuple[str, int]]  # (topic, partition) -> (host, port)


def plan_requests(scenario: Scenario, leaders: Leaders, seed: int) -> pa.Table:
    """Every request of the scenario. Connections are numbered through the run, and so are correlation ids."""
    rows: list[dict[str, object]] = []
    connection = 0
    for group in scenario.groups:
        for number in range(group.connections):
            partition = number % group.partitions
            host, port = leaders[group.topic, partition]
            common = {
                "run": scenario.name,
                "group": group.name,
                "connection": connection,
                "host": host,
                "port": port,
                "topic": group.topic,
                "partition": partition,
                "acks": group.acks,
                "record_bytes": group.record_bytes,
                "pipelined": group.pipelined,
                "expected_error": group.expected_error(),
                "must_wait": group.waits,
            }
            first_us = group.ramp_ms * 1000 * number // group.connections
            timeouts_ms = draw_timeouts(group, number, seed)
            for sequence, (timeout_ms, intended_us) in enumerate(schedule(group, timeouts_ms, first_us)):
                own = {
                    "sequence": sequence,
                    "correlation_id": len(rows) + 1,
                    "timeout_ms": timeout_ms,
                    "intended_us": intended_us,
                }
                rows.append(common | own)
            connection += 1
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def draw_timeouts(group: Group, number: int, seed: int) -> list[int]:
    """The timeouts of the group's connection `number`; they depend on nothing else than the arguments."""
    draw = random.Random(f"{seed}/{group.name}/{number}")
    return [draw.randint(*group.timeout_ms) for _ in range(group.requests_per_connection)]


def schedule(group: Group, timeouts_ms: list[int], first_us: int) -> Iterator[tuple[int, int]]:
    """(timeout_ms, intended_us) of each request of a connection."""
    due_us: list[int] = []
    for number, timeout_ms in enumerate(timeouts_ms):
        makes_room = number - group.pipelined
        intended_us = first_us if makes_room < 0 else due_us[makes_room] + group.pause_ms * 1000
        handled_us = max(intended_us, due_us[-1]) if due_us else intended_us
        due_us.append(handled_us + (timeout_ms * 1000 if group.waits else 0))
        yield timeout_ms, intended_us


def duration_us(plan: pa.Table) -> int:
    """When the last answer of the plan is due, pipelines left aside."""
    return max(
        (row["intended_us"] + row["timeout_ms"] * 1000 * row["must_wait"] for row in plan.to_pylist()), default=0
    )


def to_frame(spark: SparkSession, plan: pa.Table, slots: int) -> DataFrame:
    """The plan as a DataFrame of `slots` partitions, each with whole connections, as evenly as they can be dealt."""
    frame = spark.createDataFrame(plan)
    return frame.repartitionById(slots, frame["connection"]).sortWithinPartitions("connection", "sequence")
