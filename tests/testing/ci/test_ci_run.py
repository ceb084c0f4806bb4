"""The parts that `python -m tests.ci` runs, their order, and when it stops."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from ci import __main__ as command
from ci import history
from ci.flaky import busy_loops
from ci.parts import Step
from ci.running import ROOT, run, run_all

PASSES, FAILS = (Step((sys.executable, "-c", f"raise SystemExit({status})")) for status in (0, 3))


def test_a_step_that_fails_ends_ci_and_not_the_night() -> None:
    assert [step.status for step in run_all([PASSES, FAILS, PASSES], goes_on=False)] == [0, 3]
    assert [step.status for step in run_all([PASSES, FAILS, PASSES], goes_on=True)] == [0, 3, 0]


def test_a_step_says_what_it_was_and_how_it_ended(capfd: pytest.CaptureFixture[str]) -> None:
    done = run(Step((sys.executable, "-c", "import os; print('dose', os.environ['DOSE'])"), {"DOSE": "small"}))
    assert "dose small" in capfd.readouterr().out
    assert str(done).endswith(f"passed  DOSE=small {sys.executable} -c import os; print('dose', os.environ['DOSE'])")
    assert "FAILED with status 3" in str(run(FAILS))


def test_ci_passes_only_if_every_part_does(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[Path] = []

    def record(root: Path) -> bool:
        recorded.append(root)
        return False

    monkeypatch.setattr(history, "record", record)
    monkeypatch.setattr(command, "PARTS", {"one": (PASSES,), "two": (PASSES, FAILS), "three": (PASSES,)})
    assert command.run_parts(["one", "three"]) == 0
    assert recorded == [], "some parts, chosen by hand, are not what CI runs"
    assert command.run_parts(["one", "three"], is_whole=True) == 0
    assert recorded == [ROOT]
    assert command.run_parts(["one", "two", "three"], is_whole=True) == 1
    assert recorded == [ROOT]


def test_a_part_that_there_is_not_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["run", "tests"])
    assert ended.value.code == 2
    assert "there is no part 'tests'; the parts are check, test, " in capsys.readouterr().err


def test_busy_loops_end_with_the_block() -> None:
    with busy_loops(2) as processes:
        assert [process.poll() for process in processes] == [None, None]
    assert [process.returncode for process in processes] == [0, 0]
