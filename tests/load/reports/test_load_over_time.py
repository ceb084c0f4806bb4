"""Charts over time: requests by their times, parked requests and logs by the journal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from load_journal import journal_frame
from pyspark.sql import SparkSession
from support.faulty import FaultyCluster
from support.requests import produce

from fakebroker.core.journal.json_lines import to_json
from fakebroker_load.journal.lines import Rows, read_event
from fakebroker_load.judging.requests import judge
from fakebroker_load.judging.ways import Ways
from fakebroker_load.reports.over_time import (
    AFTER,
    MOST_PARTITIONS,
    STEPS,
    count_requests,
    last_step,
    step_ms,
    tell_journal,
)
from fakebroker_load.traffic.rows import RESULT_SCHEMA

LAST_US = 8_000_000  # steps of 100 ms
START_MS = 5_000  # on the broker's clock
RUN = "it's {r}"  # a name that SQL and Python would both like to read otherwise
WAY = Ways(RUN, True, "a journal", 1, None, (START_MS * 1000 - 400, START_MS * 1000 + 400))
MANY = "many"  # another run, with more partitions than are shown


def event(kind: str, at_ms: int, **more: Any) -> dict[str, Any]:
    return {"run": RUN, "event": kind, "mono_ms": START_MS + at_ms, **more}


def appended(at_ms: int, partition: int, offset: int, **more: Any) -> dict[str, Any]:
    own = {"topic": "t", "partition": partition, "base_offset": offset, "last_offset": offset}
    return event("append", at_ms, request=1, **own | {"error_code": 0, "is_duplicate": False} | more)


def moved(at_ms: int, partition: int, watermark: int) -> dict[str, Any]:
    return event("watermark_moved", at_ms, topic="t", partition=partition, high_watermark=watermark)


@pytest.mark.spark
def test_what_the_journal_tells(spark: SparkSession) -> None:
    parked = {"api": "Produce", "deadline_mono_ms": START_MS + 900}
    events = [
        event("parked", 10, request=1, **parked),
        event("parked", 20, request=2, **parked),
        event("parked", 20, request=3, api="Fetch", deadline_mono_ms=START_MS + 900),
        event("answer", 350, request=1),
        event("answer", 360, request=9),
        # The second one is never answered: it is over at its deadline.
        appended(110, 0, 40),
        moved(120, 0, 41),
        appended(130, 0, 41),
        appended(130, 1, 7, last_offset=9),
        appended(140, 0, -1, error_code=7),
        appended(150, 0, 41, is_duplicate=True),
        appended(150, 0, 0) | {"topic": "another"},
        moved(310, 1, 8),
        moved(60_000, 0, 42),
        # A new leader has less: the log is shorter.
        event("leader_changed", 60_010, topic="t", partition=1, high_watermark=8, log_end_offset=8),
        event("leader_changed", 60_020, topic="t", partition=0, high_watermark=-1, log_end_offset=-1),
    ]
    many = [appended(110, place, 0, last_offset=place) | {"run": MANY} for place in range(MOST_PARTITIONS + 4)]
    rows = [recorded | {"seq": number} for number, recorded in enumerate([*events, *many])]
    journal = journal_frame(spark, rows)
    runs = (RUN, MANY)
    ways = [replace(WAY, run=run) for run in runs]
    by_run = tell_journal(spark, journal, ways, {run: ["t"] for run in runs}, dict.fromkeys(runs, LAST_US))
    over_time, end = by_run[RUN], last_step(LAST_US)

    assert over_time.why_not is None
    assert end == LAST_US // 100_000 + AFTER
    assert over_time.parked == {0: 2, 3: 1, 9: 0}
    assert over_time.partition_count == 2
    assert over_time.partitions["t-0"].appended == {1: 2, end: 2}
    assert over_time.partitions["t-0"].behind == {1: 1, end: 0}
    assert over_time.partitions["t-1"].appended == {1: 3, 3: 3, end: 1}
    assert over_time.partitions["t-1"].behind == {1: 3, 3: 2, end: 0}
    assert over_time.all.appended == {1: 5, 3: 5, end: 3}
    assert over_time.all.behind == {1: 4, 3: 3, end: 0}

    over_time = by_run[MANY]
    assert over_time.partition_count == MOST_PARTITIONS + 4
    assert sorted(over_time.partitions) == sorted(f"t-{place}" for place in range(4, MOST_PARTITIONS + 4))
    assert over_time.all.behind == {1: sum(range(1, MOST_PARTITIONS + 5))}


@pytest.mark.spark
def test_a_broker_s_own_journal_tells_of_those_that_were_parked(spark: SparkSession) -> None:
    kafka = FaultyCluster(followers="frozen")
    start_ms = kafka.now.mono_ms
    kafka.connect().send(produce("t", 0, timeout_ms=300))
    kafka.connect().send(produce("t", 1, timeout_ms=700))
    kafka.advance(1_000)

    rows = Rows(RUN)
    for seq, event_ in enumerate(kafka.journal.events()):
        if (event := read_event(to_json(event_).encode())) is not None:
            rows.add(seq, event, None)
    journal = spark.createDataFrame(pa.concat_tables(rows.tables()))
    way = replace(WAY, clock_us=(start_ms * 1000, start_ms * 1000))
    over_time = tell_journal(spark, journal, [way], {RUN: ["t"]}, {RUN: LAST_US})[RUN]

    assert over_time.parked == {0: 2, 3: 1, 7: 0}


@pytest.mark.parametrize(
    ("way", "sentence"),
    [
        (Ways(RUN, True), "There is no journal of it: no --control and no --journal was given."),
        (Ways(RUN, True, "a journal", 1, None, None), "Nothing was answered by which"),
        (Ways(RUN, True, "a journal", 1, None, (900_000, 100)), "The broker's clock went otherwise"),
    ],
)
def test_without_a_journal_that_can_be_placed_it_is_said_why(way: Ways, sentence: str) -> None:
    over_time = tell_journal(None, None, [way], {RUN: ["t"]}, {RUN: LAST_US})  # type: ignore[arg-type]  # Spark is not asked
    assert (over_time[RUN].why_not or "").startswith(sentence)


@pytest.mark.spark
def test_requests_stand_at_each_of_their_moments(spark: SparkSession) -> None:
    one = {
        "run": RUN,
        "group": "g",
        "topic": "t",
        "partition": 0,
        "acks": -1,
        "timeout_ms": 100,
        "intended_us": 0,
        "sent_us": 250_000,
        "answered_us": 7_999_999,
        "error_code": 0,
        "outcome": "answered",
        "must_wait": False,
    }
    silent = {"acks": 0, "answered_us": None, "error_code": None, "outcome": "silent"}
    unsent = silent | {"sent_us": None, "outcome": "not sent"}
    expired = silent | {"answered_us": 7_999_999, "outcome": "expired"}  # told, and by no broker
    rows = (one, one | silent, one | unsent, one | expired)
    given = [row | {"connection": at, "sequence": 0} for at, row in enumerate(rows)]
    frame = spark.createDataFrame(pa.Table.from_pylist(given, schema=RESULT_SCHEMA))
    judged = judge(spark, frame, expected_rows=len(given))
    (counts,) = count_requests(spark, judged, {RUN: LAST_US}).values()
    assert counts.step_ms == 100
    assert (counts.asked, counts.sent, counts.answered) == ({0: 4}, {2: 3}, {79: 1})
    assert counts.answers == {"NONE": {79: 1}, "silent": {2: 1}, "expired": {79: 1}}


def test_a_run_has_so_many_steps_however_long_it_is() -> None:
    assert step_ms(0) == 1
    for end_us in (1, 84_999, 86_000, 10**7, 10**12):
        assert end_us / 1000 / step_ms(end_us) <= STEPS
