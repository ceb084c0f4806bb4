"""The page of results is what the results say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.reporting.report import Report
from benchmarks.reporting.rows import compare


def lines() -> str:
    produce_report = Report("produce", driver="C", versions={"kfake": "v1"})
    produce_report.add(compare("100 B", "kfake", "requests/s", [100, 110, 120], [50, 55, 60], 2.0))
    produce_report.add(compare("1 KiB", "kfake", "requests/s", [100], [100], 2.0))
    produce_report.add(compare("1 KiB", "Apache Kafka", "requests/s", [100], [], 3.0, "missing: no java"))
    other = {"name": "wheel", "rows": [{"workload": "cancel"}]}
    return "\n".join([produce_report.as_json(), "a line of something else", json.dumps(other)])


def test_rows_and_verdicts(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text(lines())
    page = report.results_page(report.read(tmp_path / "results.jsonl"))
    assert "1 of 2 targets met" in page
    assert "kfake v1" in page
    assert "| 100 B | kfake | 110 | 55 | requests/s | 2 | 2 | met | 18% / 18% |" in page
    assert "| 1 KiB | kfake | 100 | 100 | requests/s | 1 | 2 | **missed** | - / - |" in page
    assert "| missing: no java |" in page
    assert "wheel" not in page


def test_what_is_written_by_hand_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# By hand\n\n" + report.MARK + "\nold results\n")
    monkeypatch.setattr(report, "PAGE", page)
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results.jsonl")
    assert report.main([]) == 2, "there are no results yet"
    (tmp_path / "results.jsonl").write_text(lines())
    assert report.main([]) == 0
    text = page.read_text()
    assert text.startswith("# By hand\n\n" + report.MARK + "\nCommit ")
    assert "old results" not in text


def test_the_page_in_the_docs_is_of_the_results() -> None:
    _, mark, written = report.PAGE.read_text().partition(report.MARK)
    assert mark
    if not report.RESULTS.exists():
        assert written == "", "results without a run"
        return
    assert written == "\n" + report.results_page(report.read(report.RESULTS))
