"""`fakebroker-load odds`: options and models are equivalent, a mistake is one sentence, and Spark gives the same
trials."""

from __future__ import annotations

import io
import json
import shlex
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from fakebroker.testing.odds import OddsModel, run_trial
from fakebroker_load.cli import main
from fakebroker_load.odds import command as odds_command
from fakebroker_load.odds.options import as_time, command, parse_time
from fakebroker_load.odds.table import print_odds
from fakebroker_load.odds.trials import OddsSum

ROUGH = ["--rate", "10", "--duration", "12s", "--mtbf", "6s", "--mttr", "2s", "--lag", "500ms"]
SESSION = ["--config", "broker.session.timeout.ms=500"]


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["fakebroker-load", "odds", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code if isinstance(ended.value.code, int) else int(ended.value.code is not None)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[OddsModel], range, bool]]:
    """Record the trials of the command without running them."""
    calls: list[tuple[list[OddsModel], range, bool]] = []

    @contextmanager
    def ready_cluster(*arguments: object):  # type: ignore[no-untyped-def]
        yield None, 1

    def run_odds(spark: None, models: list[OddsModel], seeds: range, *, tells: bool, on_progress: object):  # type: ignore[no-untyped-def]
        calls.append((models, seeds, tells))
        return []

    monkeypatch.setattr(odds_command, "ready_cluster", ready_cluster)
    monkeypatch.setattr(odds_command, "run_odds", run_odds)
    monkeypatch.setattr(odds_command, "print_odds", lambda *arguments: None)
    return calls


def test_without_options_it_is_the_default(
    monkeypatch: pytest.MonkeyPatch, asked: list[tuple[list[OddsModel], range, bool]]
) -> None:
    assert run(monkeypatch) == 0
    assert asked == [([OddsModel()], range(50), False)]


def test_what_is_given_again_is_a_row_each(
    monkeypatch: pytest.MonkeyPatch, asked: list[tuple[list[OddsModel], range, bool]]
) -> None:
    assert run(monkeypatch, "--acks", "1", "--acks", "all", "--min-isr", "1", "--min-isr", "3") == 0
    [(models, _, _)] = asked
    assert [(model.acks, model.min_isr) for model in models] == [("1", 1), ("1", 3), ("all", 1), ("all", 3)]


def test_the_line_that_tells_a_trial_again_asks_for_the_same(
    monkeypatch: pytest.MonkeyPatch, asked: list[tuple[list[OddsModel], range, bool]]
) -> None:
    models = [
        OddsModel(),
        OddsModel(
            acks="all",
            min_isr=1,
            unclean_leader_election=True,
            idempotence=False,
            retries=3,
            brokers=5,
            replication=2,
            lag_ms=1_500,
            producer={"linger.ms": "0", "max.in.flight.requests.per.connection": "1"},
            brokers_config={"broker.session.timeout.ms": "500"},
            rate=2.5,
            duration_ms=90_000,
            mtbf_ms=3 * 86_400_000,
            mttr_ms=61_001,
            crash="power",
            flush_ms=5_000,
            together=0.25,
            lost_answers=0.01,
        ),
    ]
    for model in models:
        assert run(monkeypatch, *shlex.split(command(model, 17))[2:]) == 0
        assert asked.pop() == ([model], range(17, 18), True)


def test_times_have_units() -> None:
    for ms, text in (
        (0, "0ms"),
        (20, "20ms"),
        (1_500, "1500ms"),
        (90_000, "90s"),
        (7_200_000, "2h"),
        (172_800_000, "2d"),
    ):
        assert as_time(ms) == text
        assert parse_time("--lag", text) == ms
    assert parse_time("--lag", "1.5h") == 5_400_000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--acks", "2"], "acks=2 must be all, -1, 0 or 1."),
        (["--mtbf", "20"], "--mtbf '20' is no time: a number with its unit, as in 20ms, 30s, 5m, 6h or 30d."),
        (["--lag", "-5ms"], "--lag '-5ms' is no time: a number with its unit, as in 20ms, 30s, 5m, 6h or 30d."),
        (["--duration", "0s"], "duration is 1 ms at least."),
        (["--min-isr", "4"], "min.insync.replicas is 1 to 3, as many as there are replicas, not 4."),
        (["--acks", "1", "--idempotence", "true"], "enable.idempotence needs acks=all"),
        (["--crash", "fire"], "A crash takes process, power, disk, not 'fire'."),
        (["--producer", "linger.ms"], "--producer 'linger.ms' is not NAME=VALUE."),
        (["--config", "=1"], "--config '=1' is not NAME=VALUE."),
        (["--trials", "0"], "Invalid value for '--trials'"),
        (["--json", "/no/such/folder/x.json"], "--json /no/such/folder/x.json is no file, or lies in no folder."),
        (["--spark-conf", "x"], "--spark-conf 'x' is not KEY=VALUE"),
    ],
)
def test_a_slip_is_one_sentence(
    arguments: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("fakebroker-load: ")
    assert sentence in said.err
    assert said.err.count("\n") == 1


def printed(found: list[OddsSum], width: int) -> str:
    file = io.StringIO()
    print_odds(Console(file=file, width=width), found, 1.0)
    return file.getvalue()


def test_a_narrow_terminal_has_all_figures() -> None:
    models = [OddsModel(rate=10.0, duration_ms=20_000, mtbf_ms=5_000, lag_ms=500, acks=acks) for acks in ("1", "all")]
    sums = [OddsSum(model, [run_trial(model, seed) for seed in range(2)]) for model in models]
    wide, narrow = printed(sums, 150), printed(sums, 80)
    assert max(map(len, wide.splitlines()[:8])) <= 150
    for sum_ in sums:
        figures = [f"{sum_.total(name):,}" for name in ("sent", "leaders_lost")]
        assert all(figure in text for figure in figures for text in (wide, narrow))
    assert "acks=1: lost, as in  fakebroker-load odds --acks 1 --lag 500ms --rate 10 " in wide
    assert wide.count("(<78 %)") == narrow.count("(<78 %)") > 0


@pytest.mark.spark
def test_the_command(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "odds.json"
    acks = ("1", "all")
    arguments = [
        *ROUGH,
        *SESSION,
        *(word for acks_ in acks for word in ("--acks", acks_)),
        "--trials",
        "3",
        "--seed",
        "2",
    ]
    assert run(monkeypatch, *arguments, "--json", file) == 0
    said = capfd.readouterr()
    assert said.err == ""
    assert "3 brokers, 3 replicas; followers have each record 500ms later." in said.out
    rows = json.loads(file.read_text())["rows"]
    assert [row["model"]["acks"] for row in rows] == list(acks)
    for acks_, row in zip(acks, rows, strict=True):
        model = OddsModel(**row["model"])
        assert (model.acks, row["first_seed"], row["trials"]) == (acks_, 2, 3)
        alone = [run_trial(model, seed) for seed in (2, 3, 4)]
        for name in ("sent", "acknowledged", "lost", "reordered", "crashes", "unavailable_ms"):
            assert row["totals"][name] == sum(getattr(trial, name) for trial in alone), name
        assert f"{row['totals']['sent']:,}" in said.out
    lost, none = rows[0]["shares"]["lost"], rows[1]["shares"]["lost"]
    assert lost["value"] == rows[0]["totals"]["lost"] / rows[0]["totals"]["acknowledged"] > 0
    assert none["value"] == 0

    assert run(monkeypatch, *shlex.split(rows[0]["lost_again"])[2:]) == 0
    output = capfd.readouterr().out
    assert ", and is lost" in output
    assert " fails: process" in output
