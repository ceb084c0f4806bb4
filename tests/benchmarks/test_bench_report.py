"""The arithmetic of the rows, and the line of JSON."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from rich.console import Console

from benchmarks.reporting.report import Report
from benchmarks.reporting.rows import LIMIT, Row, compare, spread


def test_more_requests_than_theirs_is_a_ratio_above_one() -> None:
    row = compare("w", "kfake", "requests/s", [90, 300, 120], [100, 60, 20], target=2.0)
    assert (row.ours, row.theirs, row.ratio) == (120, 60, 2.0)
    assert row.met() is True


def test_less_time_than_theirs_is_a_ratio_above_one() -> None:
    row = compare("w", "kfake", "us", [50], [75], target=1.6)
    assert row.ratio == 1.5
    assert row.met() is False


def test_the_spread_is_a_share_of_the_median() -> None:
    assert spread([90, 100, 120]) == 0.3
    assert spread([100]) is None
    row = compare("w", "p", "ms", [90, 100, 120], [7])
    assert row.spread == (0.3, None)


@pytest.mark.parametrize(("ours", "met"), [(250.0, True), (250.3, False), (100.0, True)])
def test_a_limit_is_a_target_of_one(ours: float, met: bool) -> None:
    row = compare("start", LIMIT, "ms", [ours], [250.0])
    assert row.target == 1.0
    # The ratio is rounded for the reader, to three places; a limit is not missed by less than that.
    assert row.met() is met


def test_a_missing_peer_has_a_reason_and_no_ratio() -> None:
    row = compare("w", "kfake", "requests/s", [10.0, 20.0], [], 2.0, "missing: no `go` on this machine")
    assert row == Row(
        "w", "kfake", 15.0, None, "requests/s", None, (None, None), 2.0, "missing: no `go` on this machine"
    )
    assert row.met() is None


def test_bytes_come_from_requests() -> None:
    row = compare("w", "p", "requests/s", [1_000.0], [500.0], request_bytes=2_000)
    assert row.mb_s == (2.0, 1.0)


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(ValueError, match="no unit"):
        compare("w", "p", "furlongs", [1], [1])


def test_the_line_of_json() -> None:
    report = Report("produce", driver="C", versions={"kfake": "v1"})
    report.add(compare("100 B", "kfake", "requests/s", [100], [50], 2.0))
    report.add(compare("100 B", "Apache Kafka", "requests/s", [100], [], 3.0, "missing: no java"))
    line = report.as_json()
    assert "\n" not in line
    document = json.loads(line)
    assert set(document) == {"name", "rows", "versions", "cores", "commit", "load", "driver"}
    assert document["name"] == "produce"
    assert document["versions"].items() >= {"kfake": "v1"}.items()
    assert {"python", "fakebroker", "kio"} <= set(document["versions"])
    assert document["cores"] >= 1
    assert document["commit"]
    first, second = document["rows"]
    assert {key: first[key] for key in ("work", "peer", "ours", "theirs", "unit", "ratio", "met")} == {
        "work": "100 B",
        "peer": "kfake",
        "ours": 100,
        "theirs": 50,
        "unit": "requests/s",
        "ratio": 2,
        "met": True,
    }
    assert (second["theirs"], second["ratio"], second["met"]) == (None, None, None)
    assert second["note"] == "missing: no java"


def test_the_table_says_what_is_missing_and_what_is_missed() -> None:
    report = Report("produce")
    report.add(compare("100 B", "kfake", "requests/s", [100], [100], 2.0))
    report.add(compare("100 B", "Apache Kafka", "requests/s", [100], [], 3.0, "missing: no java"))
    out = StringIO()
    Console(file=out, width=140).print(report.table())
    assert "2 MISSED" in out.getvalue()
    assert "missing: no java" in out.getvalue()
    assert "MB/s" not in out.getvalue()
