"""Examples: one request for each kind of problem, with its steps at the client and the broker.

Theory   The client's times are on the run's clock, the broker's on its own. They are aligned as in the verdict
         (judging/ways.py). If it cannot align them, the broker counts as having received the request when it was sent.
         A few rows are looked up, in one query of the judged rows and one of the journal, and only if something is
         wrong. A record of a producer that batches is not one request, so its journal is not shown.
Units    microseconds; `ExampleStep.at_us` counts from when the request was intended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from fakebroker.protocol.error_code import kafka_name
from fakebroker_load.judging.ways import Ways
from fakebroker_load.reports.distributions import answer_name
from fakebroker_load.verdict import Reason, Verdict

MOST = 40  # examples
MOST_EVENTS = 20  # of the journal, for each example
FAR = 1.25  # a deadline is shown if it is at most this many times as late as the rest
CLIENT, BROKER = "client", "broker"

KEYS_SCHEMA = "number int, run string, connection int, sequence int"
ASKED = """
SELECT /*+ BROADCAST(keys) */ *
FROM {judged} AS judged JOIN {keys} AS keys USING (run, connection, sequence)
"""
REQUESTS_SCHEMA = "number int, run string, request long, topic string, partition int, beyond long"
# The journal's events of each request, and when the high watermark first passed its record.
EVENTS = f"""
SELECT * FROM (
    SELECT /*+ BROADCAST(asked) */ number, event, seq, mono_ms, received_mono_ms, deadline_mono_ms, journal.topic,
        journal.partition, error_code, base_offset, last_offset, outcome, connection, high_watermark,
        row_number() OVER (PARTITION BY number ORDER BY seq) AS place
    FROM {{asked}} AS asked
    JOIN {{journal}} AS journal ON journal.run = asked.run AND journal.request = asked.request
    WHERE journal.request IN ({{{{requests}}}})  -- Parquet then leaves most of the file unread
)
WHERE place <= {MOST_EVENTS}
UNION ALL
SELECT number, 'watermark', first.seq, first.mono_ms, NULL, NULL, topic, partition, NULL, NULL, NULL, NULL, NULL,
    first.high_watermark, 0
FROM (
    SELECT /*+ BROADCAST(asked) */ number, asked.topic, asked.partition,
        min(struct(seq, mono_ms, high_watermark)) AS first
    FROM {{asked}} AS asked JOIN {{journal}} AS journal
        ON journal.run = asked.run AND journal.topic = asked.topic AND journal.partition = asked.partition
    WHERE event IN ('watermark_moved', 'leader_changed') AND high_watermark > beyond
    GROUP BY number, asked.topic, asked.partition
)
ORDER BY number, seq
"""


@dataclass(frozen=True, slots=True)
class ExampleStep:
    at_us: int
    where: str  # CLIENT or BROKER
    kind: str  # intended, sent, answered, ended; received, handled, parked, append, watermark, deadline, answer
    text: str


@dataclass(frozen=True, slots=True)
class Example:
    """An example. `says` has the statements of client, log and journal. Without steps it belongs to no request, or to
    one that was never sent."""

    reason: Reason
    says: tuple[tuple[str, str], ...]
    steps: tuple[ExampleStep, ...] = ()
    details: str = ""


def examples_of(spark: SparkSession, judged: DataFrame, verdict: Verdict, journal: DataFrame | None) -> list[Example]:
    """Return an example for each reason of the verdict."""
    reasons = verdict.reasons[:MOST]
    keys = [
        (number, reason.run, reason.example["connection"], reason.example["sequence"])
        for number, reason in enumerate(reasons)
        if reason.example.get("sequence") is not None
    ]
    rows: dict[int, Any] = {}
    if keys:
        judged_rows = spark.sql(ASKED, judged=judged, keys=spark.createDataFrame(keys, KEYS_SCHEMA))
        for found_row in judged_rows.collect():
            rows.setdefault(found_row["number"], found_row.asDict())
    events = _events(spark, rows, journal)
    ways = {way.run: way for way in verdict.ways}
    examples = []
    for number, reason in enumerate(reasons):
        row = rows.get(number)
        steps = () if row is None else tuple(steps_of(row, events.get(number, []), ways.get(reason.run)))
        examples.append(Example(reason, tuple(_says(reason)), steps, "" if row is None else _details(row)))
    return examples


def _events(
    spark: SparkSession, rows: Mapping[int, Mapping[str, Any]], journal: DataFrame | None
) -> dict[int, list[Mapping[str, Any]]]:
    requests = []
    for number, row in rows.items():
        if row.get("request") is not None:
            append = row["append"]
            beyond = None if append is None else append["last_offset"]
            requests.append((number, row["run"], row["request"], row["topic"], row["partition"], beyond))
    events: dict[int, list[Mapping[str, Any]]] = {}
    if journal is not None and requests:
        frame = spark.createDataFrame(requests, REQUESTS_SCHEMA)
        text = EVENTS.replace("{{requests}}", ", ".join(str(request) for _, _, request, *_ in requests))
        for event in spark.sql(text, journal=journal, asked=frame).collect():
            events.setdefault(event["number"], []).append(event.asDict())
    return events


def steps_of(row: Mapping[str, Any], events: Sequence[Mapping[str, Any]], way: Ways | None) -> Iterator[ExampleStep]:
    """Return the steps in order of time. `row` is a judged row; `events` are in the journal's order."""
    zero_us = row["intended_us"] if row["intended_us"] is not None else row["sent_us"]
    if zero_us is None:
        return
    steps = list(_of_client(row, zero_us))
    shift_us = _shift_us(row, events, way)
    if shift_us is not None:
        for event in events:
            entries = _of_broker(event)
            steps += [
                ExampleStep(mono_ms * 1000 - shift_us - zero_us, BROKER, kind, text) for mono_ms, kind, text in entries
            ]
    end_us = max(step.at_us for step in steps if step.kind not in ("deadline", "watermark"))
    near = (step for step in steps if step.kind != "deadline" or step.at_us <= end_us * FAR)
    yield from sorted(near, key=lambda step: (step.at_us, step.kind == "answered"))


def _of_client(row: Mapping[str, Any], zero_us: int) -> Iterator[ExampleStep]:
    yield ExampleStep(0, CLIENT, "intended", "intended")
    if row["sent_us"] is not None:
        yield ExampleStep(row["sent_us"] - zero_us, CLIENT, "sent", "sent")
    if row["answered_us"] is not None:
        offset = "" if row["base_offset"] is None or row["base_offset"] < 0 else f" at offset {row['base_offset']:,}"
        yield ExampleStep(row["answered_us"] - zero_us, CLIENT, "answered", f"answered {answer_name(row)}{offset}")


def _shift_us(row: Mapping[str, Any], events: Sequence[Mapping[str, Any]], way: Ways | None) -> int | None:
    """Return how far the broker's clock is ahead of the run's, as in the verdict. If possible, limit it so that no
    request is received before it is sent, and no response seen before it is sent."""
    received_ms = [event["received_mono_ms"] for event in events if event["event"] == "request"]
    if not received_ms or row["sent_us"] is None:
        return None
    answered_ms = [event["mono_ms"] for event in events if event["event"] == "answer"]
    most_us = received_ms[0] * 1000 - row["sent_us"]
    least_us = answered_ms[0] * 1000 - row["answered_us"] if answered_ms and row["answered_us"] else most_us
    is_known = way is not None and way.clock_us is not None and way.clock_us[0] <= way.clock_us[1]
    shift_us = sum(way.clock_us) // 2 if is_known and way and way.clock_us else most_us
    return int(min(max(shift_us, least_us), most_us))


def _of_broker(event: Mapping[str, Any]) -> Iterator[tuple[int, str, str]]:
    at_ms = event["mono_ms"]
    error = None if event["error_code"] is None else kafka_name(event["error_code"])
    match event["event"]:
        case "request":
            yield event["received_mono_ms"], "received", "received"
            yield at_ms, "handled", "handled"
        case "append":
            where = f"{event['topic']}-{event['partition']}"
            said = f"appended to {where} at offset {event['base_offset']:,}"
            yield at_ms, "append", said if event["error_code"] == 0 else f"not appended: {error}"
        case "parked":
            yield at_ms, "parked", f"parked, for {event['deadline_mono_ms'] - at_ms:,} ms at most"
            yield event["deadline_mono_ms"], "deadline", "its deadline"
        case "watermark":
            yield at_ms, "watermark", f"the high watermark is beyond it, {event['high_watermark']:,}"
        case "answer":
            said = "no answer" if error is None else f"answers {error}"
            how = "" if event["outcome"] == "sent" else f" ({event['outcome']})"
            yield at_ms, "answer", f"{said}{how}"


def _says(reason: Reason) -> Iterator[tuple[str, str]]:
    for part in (reason.example["says"] or "").split("; "):
        who, colon, what = part.partition(": ")
        yield (who, what) if colon else ("", part)


def _details(row: Mapping[str, Any]) -> str:
    acks = "all" if row["acks"] == -1 else row["acks"]
    return f"acks={acks}, timeout {row['timeout_ms']:,} ms, correlation id {row['correlation_id']}"
