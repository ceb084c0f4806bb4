from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fakebroker_load import plots
from fakebroker_load.judging.mismatches import mismatches
from fakebroker_load.judging.requests import judge
from fakebroker_load.report import write_report
from fakebroker_load.traffic.rows import RESULT_SCHEMA
from fakebroker_load.verdict import reasons_of, summarise

MACHINE = dict.fromkeys(("system", "fakebroker", "python", "spark", "java", "uvloop"), "x") | {
    "cores": 2,
    "usable_cores": 2,
}


def run_entry(name: str, *groups: tuple[str, str, bool, int]) -> dict[str, Any]:
    return {
        "scenario": {
            "name": name,
            "about": "About <this> & that.",
            "groups": [
                {"name": group, "expect": expect, "waits": waits, "connections": requests}
                for group, expect, waits, requests in groups
            ],
        },
        "planned": {group: requests for group, _, _, requests in groups},
        "seed": 4711,
        "bootstrap": ["127.0.0.1:9092"],
        "slots": 2,
        "planned_s": 1.5,
        "started_at": "2026-01-02T03:04:05Z",
        "took_s": 2.5,
        "machine": MACHINE,
    }


def rows(count: int, **changes: Any) -> list[dict[str, Any]]:
    return [
        {
            "run": "r",
            "group": "<waiting>",
            "connection": number,
            "sequence": 0,
            "correlation_id": number,
            "topic": "t",
            "partition": 0,
            "acks": -1,
            "timeout_ms": 50 + number,
            "intended_us": 0,
            "sent_us": 1_000,
            "answered_us": 1_000 + (50 + number) * 1_000 + number * 37,
            "error_code": 7,
            "base_offset": number,
            "outcome": "answered",
            "expected_error": 7,
            "must_wait": True,
        }
        | changes
        for number in range(count)
    ]


def report(spark: SparkSession, path: Path, results: list[dict[str, Any]], runs: list[dict[str, Any]]) -> str:
    frame = spark.createDataFrame(pa.Table.from_pylist(results, schema=RESULT_SCHEMA))
    judged = judge(spark, frame, expected_rows=len(results)).localCheckpoint()
    verdict = summarise(spark, judged, runs)
    if not verdict.ok:
        verdict = replace(verdict, reasons=reasons_of(spark, mismatches(spark, judged, None, None)))
    write_report(spark, judged, verdict, runs, path / "report.html")
    return (path / "report.html").read_text()


# Every day: the report of a bad run here, that of a good one in test_load_demo.py.
@pytest.mark.nightly
@pytest.mark.spark
def test_a_report_of_a_good_run(spark: SparkSession, tmp_path: Path) -> None:
    html = report(spark, tmp_path, rows(40), [run_entry("r", ("<waiting>", "REQUEST_TIMED_OUT", True, 40))])
    assert "Every request got what it should, as far as the answers tell" in html
    assert "<td>the log was not read back</td>" in html
    assert "40 of 40 requests confirmed, 0 answered early" in html
    assert "&lt;waiting&gt;" in html
    assert "<waiting>" not in html
    assert "About &lt;this&gt; &amp; that." in html
    assert "4711" in html
    # Latency twice, send delay, lateness twice, timeouts, and the run's throughput and answers.
    assert html.count("<svg") == 8
    assert "There is no journal of it: no --control and no --journal was given." in html
    assert "By partition" in html
    assert "What is wrong" not in html
    assert "Limits" not in html
    assert "Requests that are not confirmed" not in html
    assert "currentColor" in html
    assert plots.INK not in html


@pytest.mark.spark
def test_a_report_of_a_bad_run_says_so_and_stands_alone(spark: SparkSession, tmp_path: Path) -> None:
    early = rows(1, connection=40, answered_us=20_000, base_offset=77)
    silent = rows(
        1,
        group="s",
        connection=42,
        acks=0,
        error_code=None,
        base_offset=None,
        answered_us=None,
        outcome="silent",
        expected_error=None,
        must_wait=False,
    )
    runs = [
        run_entry("r", ("<waiting>", "REQUEST_TIMED_OUT", True, 42), ("s", "no answer", False, 1)),
        run_entry("empty", ("g", "REQUEST_TIMED_OUT", True, 5)),
    ]
    html = report(spark, tmp_path, rows(40) + early + silent, runs)
    assert "Not every request got what it should" in html
    assert 'class="card verdict wrong"' in html
    assert "41 of 48 requests confirmed, 1 answered early" in html
    assert "early: 1" in html
    assert html.count('<td class="bad">early</td>') == 1
    assert "41 results for 42 requests" in html
    assert "early: early" in html
    assert html.count('<svg class="line"') == 1
    assert "answered REQUEST_TIMED_OUT at offset 77" in html
    assert "silent (acks=0; by time of sending)" in html
    assert "0 results for 5 requests" in html
    assert "Nothing was sent." in html
    links = set(re.findall(r"(?:src|href)=\"([^\"]*)\"", html))
    assert all(link.startswith(("#", "data:")) for link in links), links
    assert "<script" not in html


# Every day: a run of nothing beside the bad one above.
@pytest.mark.nightly
@pytest.mark.spark
def test_a_report_of_nothing_is_still_a_report(spark: SparkSession, tmp_path: Path) -> None:
    html = report(spark, tmp_path, [], [run_entry("r", ("g", "REQUEST_TIMED_OUT", True, 5))])
    assert "Not every request got what it should" in html
    assert 'class="card verdict wrong"' in html
    assert "0 results for 5 requests" in html
    assert "Nothing was sent." in html
    assert "<svg" not in html
