"""Runs with a journal in a file: three ways, or two and why."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from load_results import check_columns
from pyspark.sql import SparkSession

from fakebroker import FakeCluster
from fakebroker_load.cli import main, parse_bootstrap
from fakebroker_load.job import judge_folder, run_scenario
from fakebroker_load.journal.file_window import FileWindow
from fakebroker_load.journal.marks import SEEN_WITHIN_S
from fakebroker_load.journal.taps import FileTap
from fakebroker_load.judging.ways import NO_JOURNAL, WORDS, Ways, ways_of
from fakebroker_load.results.folder import JOURNAL_PARQUET, MISMATCH_PARQUET
from fakebroker_load.scenario.reading import parse_text

SCENARIO = """
name: {name}
groups:
  - {{name: all, topic: t, acks: -1, expect: NONE, connections: 3, requests_per_connection: 2, partitions: 2}}
"""


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["fakebroker-load", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def in_pieces(monkeypatch: pytest.MonkeyPatch, seen_within_s: float) -> None:
    """Read the journal in pieces of 8,000 bytes, so that Spark's tasks share it."""
    monkeypatch.setattr(FileWindow.__init__, "__defaults__", (None, 8_000, seen_within_s))


@pytest.mark.nightly  # every day the scenario of every client and planted lies are judged by journals too
@pytest.mark.spark
def test_a_journal_in_a_file(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    out, journal, stranger = tmp_path / "out", tmp_path / "journal", tmp_path / "stranger"
    stranger.touch()
    in_pieces(monkeypatch, SEEN_WITHIN_S)
    whole, unread, strange = (parse_text(SCENARIO.format(name=name), name) for name in ("whole", "unread", "strange"))
    with FakeCluster(journal=0, journal_file=journal) as kafka:
        kafka.create_topic("t", 2, 3)
        bootstrap = parse_bootstrap(kafka.bootstrap_servers)
        run_scenario(spark, whole, bootstrap, out, seed=1, tap=FileTap(journal))
        run_scenario(spark, unread, bootstrap, out, seed=1, tap=FileTap(journal), read_back=False)
        in_pieces(monkeypatch, 0.0)  # it is waited for no longer
        run_scenario(spark, strange, bootstrap, out, seed=1, tap=FileTap(stranger))
    _, verdict = judge_folder(spark, out, 600_000)
    assert verdict.ok
    assert [(way.count, way.why_no_journal is None) for way in verdict.ways] == [(3, True), (2, True), (2, False)]
    of_whole, of_unread, of_strange = (way.sentence() for way in verdict.ways)
    assert of_whole.startswith(f"whole: Three ways: what the client saw, the log, the journal in {journal}")
    assert of_unread.startswith(f"unread: Two ways: what the client saw, the journal in {journal}")
    assert "; the log was not read back. The two clocks are aligned" in of_unread
    assert of_strange == (
        "strange: Two ways: what the client saw, the log; without the broker's journal: "
        f"the journal in {stranger} tells nothing of what this run sent."
    )
    of_runs = {path.name.partition("-")[0] for path in (out / JOURNAL_PARQUET).iterdir()}
    assert len(of_runs) == 2 < len(list((out / JOURNAL_PARQUET).iterdir()))  # of the stranger's, nothing
    assert not (out / MISMATCH_PARQUET).exists()

    check_columns(out, has_journal=True)

    shutil.rmtree(out / JOURNAL_PARQUET)
    assert command(monkeypatch, "verify", out) == 3
    assert re.search(r"cannot be used: journal\.parquet/[\w-]+\.parquet is missing\.\n$", capfd.readouterr().err)


def test_a_journal_that_is_not_there_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "nothing"
    arguments = ("run", "burst", "--bootstrap-server", "h:1", "--out", tmp_path / "out", "--control", "http://h:1")
    assert command(monkeypatch, *arguments, "--journal", path) == 2
    assert capsys.readouterr().err == f"fakebroker-load: --journal {path}: No such file or directory.\n"


@pytest.mark.parametrize(
    ("entry", "count", "sentence"),
    [
        ({}, 1, "what the client saw; the log was not read back; without the broker's journal: " + NO_JOURNAL + "."),
        (
            {"log": True, "journal": {"why_not": "it is gone"}},
            2,
            "what the client saw, the log; without the broker's journal: it is gone.",
        ),
        (
            {"log": True, "journal": {"from": "j", "rows": 1200}},
            3,
            "what the client saw, the log, j (1,200 rows). Nothing was answered by which the clocks could be compared.",
        ),
        (  # a run of producers that batch: their rows do not tell, but the marks do
            {"log": True, "journal": {"from": "j", "rows": 1200, "clock_us": [1_000, 3_000]}},
            3,
            "what the client saw, the log, j (1,200 rows). The two clocks are aligned to within 1.0 ms.",
        ),
    ],
)
def test_how_many_ways(entry: dict[str, Any], count: int, sentence: str) -> None:
    ways = ways_of({"scenario": {"name": "r"}, **entry}, {})
    assert (ways.count, ways.sentence()) == (count, f"r: {WORDS[count]}: {sentence}")


def test_how_the_clocks_stand() -> None:
    aligned = Ways("r", True, "j", 1, None, (1_000, 1_400))
    assert aligned.sentence().endswith("The two clocks are aligned to within 0.2 ms.")
    apart = Ways("r", True, "j", 1, None, (30_000_000, 1_000))
    assert "The broker's clock and ours disagree by 29,999.0 ms" in apart.sentence()
