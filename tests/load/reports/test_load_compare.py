"""Comparison of two result folders: worse is longer by more than the limit and by more than chance."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from load_results import entry_of

from fakebroker_load import cli
from fakebroker_load.reports.compare import Comparison, ResultFolder, compare
from fakebroker_load.results.manifest import seal, write_runs
from fakebroker_load.scenario.model import LoadScenario, RequestGroup
from fakebroker_load.traffic.rows import RESULT_SCHEMA

COUNT = 4_000


def folder(
    path: Path, seed: int, slower: float = 1.0, rate_ms: float = 1.0, ok: bool = True, group: str = "g", **scenario: Any
) -> Path:
    """Write results of requests that take 20 ms and more, exponentially, times `slower`."""
    random = Random(seed)
    rows = []
    for at in range(COUNT):
        intended_us = round(at * rate_ms * 1000)
        sent_us = intended_us + random.randrange(200)
        waits_us = round(slower * (20_000 + random.expovariate(1 / 5_000)))
        rows.append(
            dict.fromkeys(RESULT_SCHEMA.names)
            | {"run": "r", "group": group, "intended_us": intended_us, "sent_us": sent_us, "error_code": 0}
            | {"answered_us": sent_us + waits_us, "outcome": "answered"}
        )
    (path / "requests.parquet").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=RESULT_SCHEMA), path / "requests.parquet" / "part-0.parquet")
    group_ = {"run": "r", "group": group, "requests": COUNT, "confirmed": COUNT if ok else COUNT - 1}
    group_ |= {"lateness_p50_us": 100, "lateness_p99_us": 200, "lateness_max_us": None}
    (path / "verdict.json").write_text(json.dumps({"ok": ok, "groups": [group_]}))
    of_group = RequestGroup(**{"name": group, "topic": "orders", "acks": -1, "expect": "NONE", **scenario})
    run = entry_of("0", LoadScenario("r", (of_group,)))
    write_runs(path, [run | {"log": False, "journal": None}])
    return path


def compared(one: Path, other: Path, limit: float = 0.1) -> Comparison:
    return compare(ResultFolder(one), ResultFolder(other), limit)


@pytest.mark.parametrize("seed", range(5))
def test_two_runs_of_one_thing_are_not_worse(tmp_path: Path, seed: int) -> None:
    comparison = compared(folder(tmp_path / "a", seed), folder(tmp_path / "b", 100 + seed))
    assert comparison.ok
    assert not comparison.notes


@pytest.mark.parametrize(("slower", "is_worse"), [(0.5, False), (1.05, False), (1.3, True), (3.0, True)])
def test_what_is_longer_by_more_than_the_limit_is_worse(tmp_path: Path, slower: float, is_worse: bool) -> None:
    comparison = compared(folder(tmp_path / "a", 1), folder(tmp_path / "b", 2, slower))
    worse = {regression.what for regression in comparison.regressions}
    assert ("from sent p50, ms" in worse) == is_worse
    assert ("from intended p99, ms" in worse) == is_worse
    assert not any("send delay" in what for what in worse)
    assert comparison.ok == (not is_worse)


def test_the_limit_is_the_users(tmp_path: Path) -> None:
    one, other = folder(tmp_path / "a", 1), folder(tmp_path / "b", 2, 1.3)
    assert compared(one, other, 0.5).ok
    assert not compared(one, other, 0.1).ok


@pytest.mark.nightly
def test_an_interval_holds_what_is_known_of_the_distribution(tmp_path: Path) -> None:
    """The quantile q of 20 + Exp(5) ms is at 20 - 5 ln(1 - q)."""
    missed = 0
    for seed in range(40):
        quantiles = ResultFolder(folder(tmp_path / str(seed), seed)).quantiles("r", "g", "sent_us", "answered_us")
        for name, exact_ms in (("p50", 23.466), ("p90", 31.513), ("p99", 43.026)):
            missed += not quantiles[name].low_ms <= exact_ms <= quantiles[name].high_ms
    assert missed <= 15  # 6 of 120 are expected; more than 15 come in 1 of 3,000 cases


def test_throughput_that_falls_is_worse(tmp_path: Path) -> None:
    comparison = compared(folder(tmp_path / "a", 1), folder(tmp_path / "b", 1, rate_ms=1.2))
    assert [regression.what for regression in comparison.regressions] == ["answers/s"]


def test_what_is_not_confirmed_any_more_is_worse(tmp_path: Path) -> None:
    good, bad = folder(tmp_path / "a", 1), folder(tmp_path / "b", 1, ok=False)
    assert not compared(good, bad).ok
    assert compared(bad, good).ok


def test_what_the_two_have_not_in_common_is_told(tmp_path: Path) -> None:
    comparison = compared(folder(tmp_path / "a", 1), folder(tmp_path / "b", 1, group="h", pause_ms=20))
    assert not comparison.differences
    assert any("the scenarios differ in groups" in note for note in comparison.notes)
    assert "r: g is in the first alone." in comparison.notes
    assert "r: h is in the second alone." in comparison.notes


def test_topics_of_the_runs_own_are_no_difference(tmp_path: Path) -> None:
    one, other = folder(tmp_path / "a", 1, topic="orders-a1"), folder(tmp_path / "b", 1, topic="orders-a2")
    assert any("differ in groups" in note for note in compared(one, other).notes)
    for run_id, path in (("a1", one), ("a2", other)):
        [run] = json.loads((path / "run.json").read_text())
        write_runs(path, [run | {"run_id": run_id}])
    assert not compared(one, other).notes


def status(*arguments: str | Path) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["fakebroker-load", "compare", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def test_the_command_writes_what_it_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = folder(tmp_path / "a", 1), folder(tmp_path / "b", 2, 1.3)
    assert status(one, other, "--json", tmp_path / "c.json", "--markdown", tmp_path / "c.md") == 1
    shown = capsys.readouterr().out
    document = json.loads((tmp_path / "c.json").read_text())
    assert document["ok"] is False
    worse = [difference for difference in document["differences"] if difference["is_regression"]]
    assert f"Worse in {len(worse)} of {len(document['differences'])} figures, limit 10 %." in shown
    assert (tmp_path / "c.md").read_text().startswith("## Worse in")
    assert status(one, one) == 0


def test_two_folders_with_nothing_in_common_are_a_slip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = folder(tmp_path / "a", 1), folder(tmp_path / "b", 1, group="h")
    assert status(one, other, "--json", tmp_path / "c.json") == 2
    assert "Nothing was compared: the two have no group in common." in capsys.readouterr().out
    assert json.loads((tmp_path / "c.json").read_text())["ok"] is False


def test_a_folder_without_results_is_a_slip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(tmp_path / "nowhere", folder(tmp_path / "b", 1)) == 2
    assert "nowhere holds no results of a run" in capsys.readouterr().err


def test_results_that_are_not_judged_cannot_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = folder(tmp_path / "a", 1)
    (one / "verdict.json").unlink()
    seal(one)
    assert status(one, one) == 3
    assert "manifest.json does not list verdict.json" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_a_slip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = folder(tmp_path / "a", 1)
    assert status(one, one, "--json", tmp_path / "no" / "c.json") == 2
    assert "cannot be written" in capsys.readouterr().err
