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
from benchmarks.modules import ALWAYS, ELSEWHERE, GROUPS, MAIN_WORK, REST, ROOT

SETUP = (ROOT / "setup.py").read_text()
COMPILED = modules.compiled_modules(SETUP)
OTHER = "timer add and cancel"


def test_the_groups_are_of_what_is_compiled() -> None:
    named = [module for group in GROUPS.values() for module in group]
    assert len(set(named)) == len(named)
    assert set(named) | set(ALWAYS) <= set(COMPILED)


def test_every_compiled_module_is_in_one_group() -> None:
    found = modules.groups([*COMPILED, "fakebroker/new.py"])
    assert "fakebroker/new.py" in found[REST]
    assert sorted(module for group in found.values() for module in group) == sorted(
        module for module in {*COMPILED, "fakebroker/new.py"} - set(ALWAYS) if not module.startswith(ELSEWHERE)
    )


def test_a_group_whose_modules_are_all_interpreted_anyway_is_none() -> None:
    assert modules.groups(["timingwheel/task.py", "timingwheel/wheel.py"]) == {
        "timing wheel": ("timingwheel/wheel.py",)
    }


def test_the_list_of_a_copy_has_lost_the_group_and_nothing_else() -> None:
    group = GROUPS["followers"]
    left = modules.without(SETUP, group)
    assert modules.compiled_modules(left) == [module for module in COMPILED if module not in group]
    assert len(left.splitlines()) == len(SETUP.splitlines()) - len(group)


def test_what_is_not_compiled_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match=r"does not compile fakebroker/cli\.py"):
        modules.without(SETUP, ["fakebroker/cli.py"])
    with pytest.raises(ValueError, match="no list COMPILED"):
        modules.compiled_modules("x = []")


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
        assert modules.compiled_modules((source / "setup.py").read_text()) == [
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
