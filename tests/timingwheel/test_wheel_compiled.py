"""Tests of the wheel, compiled by mypyc. They take a C compiler and a while: HYPOTHESIS_PROFILE=thorough."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(os.environ.get("HYPOTHESIS_PROFILE") != "thorough", reason="only in the thorough profile")
def test_the_compiled_wheel_passes_the_same_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.timers.compiled import compiled_wheel

    folder = tmp_path / "compiled"
    folder.mkdir()
    copy = compiled_wheel(tmp_path / "build", 300)
    shutil.copytree(copy / "timingwheel", folder / "timingwheel")
    shutil.copytree(ROOT / "tests" / "timingwheel", folder / "tests")
    shutil.copy(ROOT / "pyproject.toml", folder)
    others = ["--ignore=tests/test_wheel_compiled.py", "--ignore=tests/test_wheel_benchmark.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests", *others],
        cwd=folder,
        env={**os.environ, "HYPOTHESIS_PROFILE": "nightly", "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    where = subprocess.run(
        [sys.executable, "-c", "import timingwheel.timer; print(timingwheel.timer.__file__)"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not where.stdout.strip().endswith(".py"), "it was not the compiled one that was tested"
