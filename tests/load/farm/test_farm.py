"""The farm: seeds in Spark's tasks, the sums, and a broken broker, which is found, reported and shrunk."""

from __future__ import annotations

import gc
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from mutants.__main__ import copy_project
from pyspark.sql import SparkSession

from fakebroker.testing.seeds import KINDS, names_of, run_seed
from fakebroker_load.cli import main
from fakebroker_load.farm.seeds import FARM_FILE, SEEDS_PARQUET, make_task, run_seeds

STEPS = 40
LIMIT_S = 240


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["fakebroker-load", "simulate", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code if isinstance(ended.value.code, int) else int(ended.value.code is not None)


@pytest.mark.spark
def test_sums_are_those_of_the_seeds(spark: SparkSession, tmp_path: Path) -> None:
    progress: list[tuple[int, int]] = []
    sums = run_seeds(spark, tmp_path, KINDS, range(3, 6), STEPS, on_progress=lambda *counts: progress.append(counts))
    alone = [run_seed(kind, seed, STEPS, swarm=True) for kind in KINDS for seed in range(3, 6)]
    assert sums.ok
    assert (sums.seeds, sums.planned, sums.broken) == (12, 12, [])
    assert [kind.kind for kind in sums.kinds] == list(KINDS)
    for kind in sums.kinds:
        mine = [result for result in alone if result.kind == kind.kind]
        for name in ("steps", "requests", "produced", "virtual_ms"):
            assert getattr(kind, name) == sum(getattr(result, name) for result in mine), name
    for reached in sums.situations:
        counts = [result.situations.get(reached.situation, 0) for result in alone if result.kind == reached.kind]
        assert (reached.seeds, reached.times) == (sum(count > 0 for count in counts), sum(counts)), reached
    assert {name for kind in KINDS for name in names_of(kind)} <= {situation.situation for situation in sums.situations}
    assert progress
    assert progress[-1] <= (12, 12)


@pytest.mark.spark
def test_a_seed_that_is_missing_is_not_taken_for_one_that_held(spark: SparkSession, tmp_path: Path) -> None:
    sums = run_seeds(spark, tmp_path, ["cluster"], range(2), STEPS)
    assert sums.ok
    assert not type(sums)(**{**vars(sums), "planned": 3}).ok


@pytest.mark.spark
def test_the_command(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "farm"
    arguments: list[str | Path] = ["--seeds", "4", "--steps", str(STEPS), "--kind", "cluster", "--out", out]
    assert command(monkeypatch, *arguments) == 0
    said = capfd.readouterr()
    assert said.err == ""
    assert "Every rule held: 4 seeds of 40 steps, " in said.out
    assert "parked while the leader moved" in said.out
    assert json.loads((out / FARM_FILE).read_text())["ok"] is True
    assert (out / SEEDS_PARQUET).is_dir()

    assert command(monkeypatch, *arguments) == 2
    assert "holds earlier results (farm.json); --overwrite removes them." in capfd.readouterr().err
    assert command(monkeypatch, *arguments, "--overwrite", "--no-swarm") == 0
    assert json.loads((out / FARM_FILE).read_text())["swarm"] is False


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--seeds", "0"], "Invalid value for '--seeds': "),
        (["--kind", "raft"], "--kind 'raft' is no simulation; there are cluster, streams, groups, transactions."),
        (["--out", __file__], "is no folder."),
    ],
)
def test_a_slip_is_one_sentence(
    arguments: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, *arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("fakebroker-load: ")
    assert sentence in said.err
    assert said.err.count("\n") == 1


@pytest.mark.nightly  # every day: test_the_command here, tests/properties/test_planted_transactions.py
@pytest.mark.spark
@pytest.mark.slow
def test_a_bug_is_found_shrunk_and_run_again_from_the_line(tmp_path: Path) -> None:
    """Plant a bug in a copy of the project: its broker acknowledges records that some in-sync replica lacks."""
    copy = copy_project(tmp_path / "copy")
    place = copy / "fakebroker/core/replication/partition.py"
    source, bug = place.read_text(), "return True, 0  # a bug\n"
    head, name, body = source.partition("    def check_enough_replicas_reach_offset(")
    place.write_text(head + name + re.sub(r"(\"\"\"\n)", rf"\1        {bug}", body, count=1))
    assert bug in place.read_text()
    environment = os.environ | {
        "PYTHONPATH": f"{copy}:{copy / 'load'}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "150",
    }

    def run(module: str, *arguments: str, path: Path = copy) -> subprocess.CompletedProcess[str]:
        paths = environment | {"PYTHONPATH": f"{path}:{path / 'load'}"}
        line = [sys.executable, "-m", module, *arguments]
        return subprocess.run(
            line, check=False, env=paths, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S
        )

    completed = run("fakebroker_load", "simulate", "--seeds", "4", "--kind", "cluster", "--master", "local[1]")
    assert completed.returncode == 1, completed.stderr
    assert "Not every rule held: 4 seeds of 200 steps" in completed.stdout
    [shorter, *_] = re.findall(r"shorter: fakebroker (.*)", completed.stdout)
    again = run("fakebroker", *shlex.split(shorter))
    assert (again.returncode, "broken: step" in again.stderr) == (1, True)
    honest = run("fakebroker", *shlex.split(shorter), path=Path(__file__).parents[3])
    assert (honest.returncode, "every rule held" in honest.stderr) == (0, True)


def test_a_task_shrinks_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for a shorter plan takes a hundred times as long as the seed, and with a broken broker all seeds
    fail."""
    import pyarrow as pa

    from fakebroker_load.farm import seeds

    shrunk: list[bool] = []

    def broken(kind: str, seed: int, steps: int, swarm: bool, shrinks: bool):  # type: ignore[no-untyped-def]
        shrunk.append(shrinks)
        return run_seed(kind, seed, 5)._replace(violation="x", shorter="y" if shrinks else "")

    monkeypatch.setattr(seeds, "run_seed", broken)
    thresholds = gc.get_threshold()
    task = make_task(("127.0.0.1", 9), ["cluster"], 5, True, True)
    rows = list(task(iter([pa.RecordBatch.from_pydict({"id": list(range(5))})])))
    assert len(rows) == 5
    assert shrunk == [True, True, False, False, False]
    assert gc.get_threshold() == thresholds  # Spark's Python may serve others next
