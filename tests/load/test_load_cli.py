"""The command `fakebroker-load`: exit status, and one sentence for a mistake of the user."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from load_results import check_columns
from load_stub import frozen, stub_broker_thread
from pyspark.sql import SparkSession
from rich.console import Console

import fakebroker_load.cli
import fakebroker_load.farm.command
import fakebroker_load.session
from fakebroker_load.cli import main, parse_bootstrap
from fakebroker_load.java import JavaNotFound
from fakebroker_load.results.folder import MANIFEST_FILE, PARQUET
from fakebroker_load.results.manifest import seal
from fakebroker_load.spark.cluster import SparkCluster
from fakebroker_load.traffic.rows import RESULT_SCHEMA

ROOT = Path(__file__).resolve().parents[2]

SCENARIO = """
name: tiny
groups:
  - name: waiting
    topic: t
    acks: -1
    expect: REQUEST_TIMED_OUT
    waits: true
    connections: 3
    requests_per_connection: 2
    timeout_ms: [20, 40]
"""


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["fakebroker-load", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code if isinstance(ended.value.code, int) else int(ended.value.code is not None)


@pytest.mark.spark
def test_run_verify_and_report(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    scenario, out = tmp_path / "tiny.yaml", tmp_path / "out"
    scenario.write_text(SCENARIO)
    with stub_broker_thread(frozen) as broker:
        server = f"--bootstrap-server=127.0.0.1:{broker.port}"
        assert command(monkeypatch, "run", scenario, server, "--no-read-back", "--out", out) == 0
        said = capfd.readouterr()
        assert "The log was not read back" in said.out
        assert "Confirmed, as far as the answers tell: 6 of 6 requests" in said.out
        assert "6/6 requests" in said.out
        assert said.err == ""
        assert json.loads((out / "verdict.json").read_text())["ok"] is True

        assert "Every request got what it should" in (out / "report.html").read_text()

    listed = json.loads((out / "manifest.json").read_text())["files"]
    read = ("requests.parquet", "judged.parquet")
    assert {path.relative_to(out).as_posix() for name in read for path in (out / name).iterdir()} <= listed.keys()
    assert sum(listed[name]["rows"] for name in listed if name.startswith(read[0])) == 6
    stood_still_for(0, out)
    assert command(monkeypatch, "verify", out, "--lateness-limit-ms", "0") == 1
    assert "tiny: waiting: late: 6" in capfd.readouterr().out
    stood_still_for(10**9, out)
    assert command(monkeypatch, "report", out, "--lateness-limit-ms", "0") == 4
    assert "tiny: waiting: late, undecided: 6" in capfd.readouterr().out
    report = (out / "report.html").read_text()
    assert "<h1>Every answer was right; 6 came late" in report
    assert 'class="card verdict not-measured"' in report
    assert json.loads((out / "verdict.json").read_text())["ok"] is False
    assert ".verdict.not-measured h1" in report
    assert command(monkeypatch, "compare", out, out) == 0
    check_columns(out, has_journal=False)


def stood_still_for(own_us: int, out: Path) -> None:
    """Write the rows anew, and the manifest: the test does not depend on how late the machine was."""
    folder = out / PARQUET
    rows = [row | {"load_late_us": own_us, "machine_late_us": None} for row in pq.read_table(folder).to_pylist()]
    shutil.rmtree(folder)
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema=RESULT_SCHEMA), folder / "part-0.parquet")
    (out / MANIFEST_FILE).unlink()
    seal(out)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "nope", "--bootstrap-server", "h:1", "--out", "x"], "There is no scenario 'nope'"),
        (["run", "frozen", "--bootstrap-server", "localhost", "--out", "x"], "'localhost' is not HOST:PORT"),
        (["run", "frozen", "--bootstrap-server", "h:99999", "--out", "x"], "'h:99999' is not HOST:PORT"),
        (["run", "frozen", "--out", "x"], "--bootstrap-server"),
        (["run", "frozen", "--bootstrap-server", "h:1", "--out", "x", "--seconds", "5"], "has no group whose arrivals"),
        (["run", "soak", "--bootstrap-server", "h:1", "--out", "x", "--seconds", "0"], "--seconds 0 is no time"),
        (["run", "frozen", "--bootstrap-server", "h:1", "--out", "x", "--seed", "many"], "--seed"),
        (["run", "frozen", "--bootstrap-server", "h:1", "--out", __file__], "--out"),
        (["run", "frozen", "--bootstrap-server", "h:1", "--out", ""], "'--out': '' is not the name of a folder"),
        (
            ["run", "healthy", "--bootstrap-server", "127.0.0.1:1", "--out", f"{__file__}/out"],
            f"--out {__file__}/out: Not a directory",
        ),
        (
            ["run", "frozen", "--bootstrap-server", "h:1", "--out", "x", "--control", "nohost"],
            "'--control': 'nohost' is not a URL, as in http://127.0.0.1:9644",
        ),
        (
            ["run", "frozen", "--bootstrap-server", "h:1", "--out", "x", "--control", "http://h:port"],
            "'--control': 'http://h:port' is not a URL",
        ),
        (["simulate", "--out", ""], "'--out': '' is not the name of a folder"),
        (["verify", ""], "'DIR': '' is not the name of a folder"),
        (["verify", "nowhere"], "holds no results of a run"),
        (["report", "nowhere"], "holds no results of a run"),
        (["verify"], "DIR"),
        (["fly"], "fly"),
    ],
)
def test_a_slip_is_one_sentence_and_status_2(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(monkeypatch, *arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.startswith("fakebroker-load: ")
    assert said.count("\n") == 1


def test_a_folder_that_cannot_be_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "some" / "out"
    arguments = ["run", "healthy", "--bootstrap-server", "127.0.0.1:1", "--out", str(out)]
    assert command(monkeypatch, *arguments) == 3  # no broker listens there
    assert not out.exists()


def test_no_java_is_one_sentence_and_status_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none() -> None:
        raise JavaNotFound("Spark needs Java 17 or later.")

    monkeypatch.setattr(fakebroker_load.session, "find_java", none)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    out = str(tmp_path / "out")
    scenario = tmp_path / "tiny.yaml"
    scenario.write_text(SCENARIO)
    with stub_broker_thread(frozen) as broker:
        server = f"--bootstrap-server=127.0.0.1:{broker.port}"
        assert command(monkeypatch, "run", scenario, server, "--out", out) == 3
    assert capsys.readouterr().err == "fakebroker-load: Spark needs Java 17 or later.\n"


def test_earlier_results_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.json").write_text("[]")
    arguments = ["run", "healthy", "--bootstrap-server", "127.0.0.1:1", "--out", str(tmp_path)]
    assert command(monkeypatch, *arguments) == 2
    assert "holds earlier results (run.json); --overwrite removes them.\n" in capsys.readouterr().err
    assert command(monkeypatch, *arguments, "--overwrite") == 3  # no broker listens there
    said = capsys.readouterr().err
    assert said.startswith("fakebroker-load: ")
    assert said.count("\n") == 1
    assert (tmp_path / "run.json").exists()


def test_a_relative_folder_is_the_same_for_executors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Executors have another working directory."""
    seen: list[Path | None] = []

    def looked_at(cluster: SparkCluster, console: Console, shared: Path | None, rows: int = 0) -> NoReturn:
        seen.append(shared)
        raise JavaNotFound("none")

    monkeypatch.setattr(fakebroker_load.cli, "ready_cluster", looked_at)
    monkeypatch.setattr(fakebroker_load.farm.command, "ready_cluster", looked_at)
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(SCENARIO)
    with stub_broker_thread(frozen) as broker:
        server = f"--bootstrap-server=127.0.0.1:{broker.port}"
        assert command(monkeypatch, "run", "tiny.yaml", server, "--out", "some/out") == 3
    assert command(monkeypatch, "simulate", "--out", "farm") == 3
    folders = [str(shared and shared.parent) for shared in seen]
    assert folders == [str(tmp_path / "some" / "out"), str(tmp_path / "farm")]


def test_what_breaks_off_is_one_sentence_and_status_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(name: str) -> None:
        raise RuntimeError("it fell\nstack")

    monkeypatch.setattr(fakebroker_load.cli, "load_scenario", broken)
    assert command(monkeypatch, "run", "frozen", "--bootstrap-server", "h:1", "--out", tmp_path) == 3
    assert capsys.readouterr().err == "fakebroker-load: it broke off: RuntimeError: it fell\n"


def test_scenarios_and_schema_are_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(monkeypatch, "scenarios") == 0
    assert re.search(r"^frozen +The followers of orders stand still", capsys.readouterr().out, re.MULTILINE)
    assert command(monkeypatch, "schema") == 0
    assert json.loads(capsys.readouterr().out)["required"] == ["name", "groups"]


def test_help_names_the_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(monkeypatch, "--help") == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("run", "verify", "report"))


def test_no_command_shows_the_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(monkeypatch) == 0
    bare = capsys.readouterr()
    assert command(monkeypatch, "--help") == 0
    assert bare == capsys.readouterr()
    assert bare.out.count("\n") > 10


def test_a_reader_that_has_gone_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert command(monkeypatch, "schema") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="nothing is full there")
def test_a_stdout_that_takes_nothing_is_one_sentence_and_status_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert command(monkeypatch, "scenarios") == 3
    assert capsys.readouterr().err == "fakebroker-load: stdout: No space left on device\n"


def test_bootstrap_servers() -> None:
    assert parse_bootstrap("a:1, b:2,[::1]:3") == [("a", 1), ("b", 2), ("::1", 3)]
    with pytest.raises(typer.BadParameter):
        parse_bootstrap("a:1,")


def test_without_the_load_extra_one_sentence_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "pyspark.py").write_text("raise ModuleNotFoundError(\"No module named 'pyspark'\", name='pyspark')\n")
    places = (tmp_path, ROOT, ROOT / "load")
    done = subprocess.run(
        [sys.executable, "-m", "fakebroker_load", "run", "frozen"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    how = "pip install '.[load]' in the checkout of fakebroker"
    assert done.stderr == f"fakebroker-load: it needs pyspark, which is not installed: {how}\n"
