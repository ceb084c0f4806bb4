"""The steps of one request by the client and the broker, and their picture."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from load_journal import journal_frame
from pyspark.sql import SparkSession

from fakebroker_load.judging.by_journal import judge_by_journal
from fakebroker_load.judging.mismatches import mismatches
from fakebroker_load.judging.requests import judge, no_log
from fakebroker_load.judging.ways import Ways
from fakebroker_load.reports import timeline
from fakebroker_load.reports.examples import BROKER, CLIENT, ExampleStep, examples_of, steps_of
from fakebroker_load.traffic.rows import RESULT_SCHEMA
from fakebroker_load.verdict import Verdict, reasons_of

ROW: dict[str, Any] = {
    "intended_us": 1_000,
    "sent_us": 3_000,
    "answered_us": 55_500,
    "error_code": 0,
    "base_offset": 4,
    "outcome": "answered",
}
OF_REQUEST = {"topic": None, "partition": None, "error_code": None, "base_offset": None, "outcome": None}
EVENTS: list[dict[str, Any]] = [
    OF_REQUEST | {"event": "request", "mono_ms": 705, "received_mono_ms": 703},
    OF_REQUEST | {"event": "append", "mono_ms": 705, "topic": "t", "partition": 0, "error_code": 0, "base_offset": 4},
    OF_REQUEST | {"event": "parked", "mono_ms": 705, "deadline_mono_ms": 755},
    OF_REQUEST | {"event": "answer", "mono_ms": 755, "error_code": 0, "outcome": "sent"},
]
WAY = Ways("r", True, "a journal", 1, None, (699_500, 700_500))


def test_the_steps_of_both_ends_stand_in_one_order() -> None:
    steps = list(steps_of(ROW, EVENTS, WAY))
    assert [(step.at_us, step.where, step.kind) for step in steps] == [
        (0, CLIENT, "intended"),
        (2_000, CLIENT, "sent"),
        (2_000, BROKER, "received"),
        (4_000, BROKER, "handled"),
        (4_000, BROKER, "append"),
        (4_000, BROKER, "parked"),
        (54_000, BROKER, "deadline"),
        (54_000, BROKER, "answer"),
        (54_500, CLIENT, "answered"),
    ]
    assert steps[-1].text == "answered NONE at offset 4"


@pytest.mark.parametrize("way", [WAY, None, replace(WAY, clock_us=None), replace(WAY, clock_us=(9_000_000, 1))])
def test_nothing_is_received_before_it_is_sent_nor_seen_before_it_is_answered(way: Ways | None) -> None:
    late = [*EVENTS[:-1], EVENTS[-1] | {"mono_ms": 756}]
    for row, events in ((ROW, EVENTS), (ROW | {"sent_us": 3_300}, EVENTS), (ROW | {"answered_us": 56_200}, late)):
        at = {step.kind: step.at_us for step in steps_of(row, events, way)}
        assert at["sent"] <= at["received"]
        assert at["answer"] <= at["answered"]


def test_a_deadline_that_is_far_away_is_told_and_not_shown() -> None:
    parked = EVENTS[2] | {"deadline_mono_ms": 30_705}
    steps = list(steps_of(ROW, [EVENTS[0], parked, EVENTS[3]], WAY))
    assert "deadline" not in {step.kind for step in steps}
    assert "parked, for 30,000 ms at most" in {step.text for step in steps}


def test_what_was_never_sent_has_one_step() -> None:
    unsent = ROW | {"sent_us": None, "answered_us": None, "error_code": None, "outcome": "not sent"}
    assert [step.kind for step in steps_of(unsent, EVENTS, WAY)] == ["intended"]
    assert list(steps_of(unsent | {"intended_us": None}, [], None)) == []


def test_the_picture_has_a_lane_for_each_end_and_its_letters_keep_their_size() -> None:
    steps = list(steps_of(ROW, EVENTS, WAY))
    svg = ElementTree.fromstring(timeline.draw(steps))
    assert svg.get("viewBox") is None
    assert [text.text for text in svg.iter("text") if text.get("class") == "name"] == [CLIENT, BROKER]
    assert [bar.get("class") for bar in svg.iter("rect")] == ["delay", "flight", "delay", "handled", "parked"]
    ends = [float(str(bar.get("x")).rstrip("%")) + float(str(bar.get("width")).rstrip("%")) for bar in svg.iter("rect")]
    assert max(ends) <= 100
    alone = ElementTree.fromstring(timeline.draw([step for step in steps if step.where == CLIENT]))
    assert [text.text for text in alone.iter("text") if text.get("class") == "name"] == [CLIENT]


def test_a_watermark_that_came_much_later_does_not_make_a_point_of_the_rest() -> None:
    steps = [*steps_of(ROW, EVENTS, WAY), ExampleStep(30_000_000, BROKER, "watermark", "<beyond> & it")]
    svg = timeline.draw(steps)
    assert 'class="watermark"' not in svg
    near = timeline.draw([*steps[:-1], replace(steps[-1], at_us=100_000)])
    assert 'class="watermark"' in near
    assert "<beyond>" not in near


@pytest.mark.spark
def test_the_journal_is_asked_for_the_example_of_each_problem(spark: SparkSession) -> None:
    place = {"topic": "t", "partition": 0}
    own = {"run": "r", "group": "g", "connection": 3, "sequence": 7, "correlation_id": 9, "local": "here:1"}
    row = (
        ROW | own | place | {"acks": -1, "timeout_ms": 50, "expected_error": 0, "must_wait": False, "fingerprint": "a"}
    )
    request, connection = {"run": "r", "request": 5}, {"connection": 2}
    appended = {"error_code": 0, "base_offset": 4, "last_offset": 4, "is_duplicate": False, "records": ["a"]}
    journal_rows = [
        request
        | connection
        | {"seq": 1, "event": "request", "api": "Produce", "peer": "here:1", "correlation_id": 9}
        | {"mono_ms": 705, "received_mono_ms": 703},
        request | place | {"seq": 2, "event": "produce", "acks": -1, "timeout_ms": 50},
        request | place | appended | {"seq": 3, "event": "append", "mono_ms": 705},
        request
        | connection
        | place
        | {"error_code": 0, "base_offset": 4}
        | {"seq": 4, "event": "answer", "mono_ms": 706, "outcome": "sent"},
        {"run": "r", "seq": 5, "event": "watermark_moved", "mono_ms": 720, "high_watermark": 4} | place,
        {"run": "r", "seq": 6, "event": "watermark_moved", "mono_ms": 740, "high_watermark": 6} | place,
    ]
    requests = spark.createDataFrame(pa.Table.from_pylist([row], schema=RESULT_SCHEMA))
    journal = journal_frame(spark, journal_rows)
    judged, _ = judge_by_journal(spark, judge(spark, requests, expected_rows=1), journal, no_log(spark).parts, ["r"])
    reasons = reasons_of(spark, mismatches(spark, judged, None, None))
    (example,) = examples_of(spark, judged, Verdict((), 500, ways=(WAY,), reasons=reasons), journal)

    assert example.reason.problem == "acknowledged before its watermark"
    assert [who for who, _ in example.says] == ["client", "journal"]
    assert example.details == "acks=all, timeout 50 ms, correlation id 9"
    texts = [(step.at_us, step.text) for step in example.steps if step.where == BROKER]
    assert (4_000, "appended to t-0 at offset 4") in texts
    assert texts[-1] == (39_000, "the high watermark is beyond it, 6")
