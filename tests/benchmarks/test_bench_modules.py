"""The groups of compiled modules, and what is made of their counts. Builds take minutes: tests make none."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import modules
from benchmarks.instructions.callgrind import CALIBRATION
from benchmarks.machine.programs import Missing
from benchmarks.modules import BASES, LIST, MAIN_WORK, ROOT

TEXT = (ROOT / LIST).read_text()
GROUPS = modules.groups(TEXT)
COMPILED = modules.compiled_modules(TEXT)
OTHER = "timer add and cancel"


def test_base_classes_are_no_group_that_can_be_left_out() -> None:
    assert BASES not in GROUPS
    assert "timingwheel/task.py" not in {module for group in GROUPS.values() for module in group}
    assert "timingwheel/task.py" in COMPILED


def test_a_group_is_of_what_every_build_compiles() -> None:
    assert "timingwheel/wheel.py" in GROUPS["timing wheel"]
    assert not any(module.startswith("fakebroker/testing/") for group in GROUPS.values() for module in group)
    assert any(module.startswith("fakebroker/testing/") for module in COMPILED)


def test_the_list_of_a_copy_has_lost_the_group_and_nothing_else() -> None:
    group = GROUPS["followers"]
    left = modules.without(TEXT, group)
    assert modules.compiled_modules(left) == [module for module in COMPILED if module not in group]
    assert len(left.splitlines()) == len(TEXT.splitlines()) - len(group)


def test_what_is_not_compiled_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match=r"does not name fakebroker/cli\.py"):
        modules.without(TEXT, ["fakebroker/cli.py"])


def test_rows_are_the_main_work_and_the_one_that_changes_most() -> None:
    compiled = {CALIBRATION: 100, MAIN_WORK: 1_000, OTHER: 50}
    main, most = modules.rows("wheel", 5, compiled, {CALIBRATION: 900, MAIN_WORK: 1_100, OTHER: 200}, "")
    assert (main.work, main.peer, main.unit) == (f"wheel (5): {MAIN_WORK}", "interpreted", "instructions")
    assert (main.ours, main.theirs, main.ratio, main.met()) == (1_000, 1_100, 1.1, None)
    assert (most.work, most.ratio) == (f"wheel (5): {OTHER}", 4.0)
    (only,) = modules.rows("wheel", 5, compiled, {CALIBRATION: 900, MAIN_WORK: 1_100, OTHER: 51}, "")
    assert only == main


def test_a_group_that_cannot_be_built_says_why() -> None:
    (row,) = modules.rows("wheel", 5, {CALIBRATION: 100, MAIN_WORK: 1_000}, {}, "cannot be built: x")
    assert (row.ours, row.theirs, row.note) == (1_000, None, "cannot be built: x")


def pip_that(ends: Callable[[Path], int], said: str = "") -> Callable[..., Any]:
    def run(command: list[str], *, cwd: Path, **_: object) -> Any:
        return subprocess.CompletedProcess(command, ends(cwd), "", said)

    return run


def test_a_copy_is_built_from_what_pip_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def look(source: Path) -> int:
        assert modules.compiled_modules((source / LIST).read_text()) == [
            module for module in COMPILED if module not in GROUPS["timing wheel"]
        ]
        assert {path.name for path in source.iterdir()} == set(modules.PARTS)
        assert not list(source.rglob("*.so"))
        return 0

    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/cc")
    monkeypatch.setattr(subprocess, "run", pip_that(look))
    assert modules.build(tmp_path, GROUPS["timing wheel"]) == tmp_path / "build"


def test_what_is_missing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/cc")
    monkeypatch.setattr(subprocess, "run", pip_that(lambda _: 1, "noise\n  a.py:1: error: Base is not compiled\n"))
    with pytest.raises(Missing, match=r"cannot be built: a.py:1: error: Base is not compiled"):
        modules.build(tmp_path, [])
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(Missing, match="no C compiler"):
        modules.build(tmp_path, [])


def test_a_group_that_does_not_exist_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert modules.main(["wheels"]) == 2
    assert "no group 'wheels'; there are: frames and headers; " in capsys.readouterr().err
