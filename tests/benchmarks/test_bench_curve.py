"""The table of what a load costs: the page is what the measurements say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.curve import __main__ as curve

FOUND: dict[str, Any] = {"judge_s": 12.4, "judge_cpu_s": 20.0, "driver_mb": 200.0, "jvm_mb": 1_234.0}
SENT = FOUND | {"load_s": 80.0, "after_s": 9.6, "task_mb": 180.0}


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    page = tmp_path / "page.md"
    page.write_text("# By hand\n\n" + curve.MARK + "\nold results\n")
    monkeypatch.setattr(curve, "PAGE", page)
    monkeypatch.setattr(curve, "RESULTS", tmp_path / "results.jsonl")
    monkeypatch.setattr(curve, "load_of", lambda requests, rate: SENT)
    monkeypatch.setattr(curve, "verdict_of", lambda requests, ways: FOUND | {"judge_s": requests / 1e4})
    monkeypatch.setattr(curve, "load_average", lambda: 2.04)
    monkeypatch.setattr(curve, "commit", lambda: "c0ffee")
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    return page


def test_each_size_has_its_last_measurement(page: Path) -> None:
    assert curve.main(["--made", "1000000", "--sent", "100000"]) == 0
    assert curve.main(["--made", "1000000"]) == 0
    text = page.read_text()
    assert text.startswith("# By hand\n\n" + curve.MARK)
    assert [line for line in text.splitlines() if line.startswith("|")][2:] == [
        "| 100,000 | sent, 1,250/s | 80 | 10 | 12 | 20 | 200 | 1,234 | 180 | 2 | 2.0 and 2.0 | c0ffee |",
        "| 1,000,000 | made |  |  | 100 | 20 | 200 | 1,234 |  | 2 | 2.0 and 2.0 | c0ffee |",
        "| 10,000,000 | not measured | | | | | | | | | | |",
    ]
    assert "old results" not in text


def test_a_page_without_the_mark_is_left_alone(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page.write_text("# By hand\n")
    assert curve.main(["--made", "1000"]) == 2
    assert "lost its mark" in capsys.readouterr().err
    assert page.read_text() == "# By hand\n"
    assert not curve.RESULTS.exists()


def test_the_table_in_the_docs_is_that_of_the_measurements() -> None:
    assert curve.PAGE.read_text().partition(curve.MARK)[2] == "\n" + "\n".join(curve.section(curve.read()))
