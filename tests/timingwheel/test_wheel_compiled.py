"""All tests of the wheel, run against the wheel compiled by mypyc.

This needs a C compiler and may build the wheel first, so it runs only with HYPOTHESIS_PROFILE=thorough.
`make test-compiled` runs the same tests against the whole compiled copy.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD_TIMEOUT_S = 300


@pytest.mark.skipif(os.environ.get("HYPOTHESIS_PROFILE") != "thorough", reason="only in the thorough profile")
def test_the_compiled_wheel_passes_the_same_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.timers.compiled import compiled_wheel

    copy = compiled_wheel(tmp_path / "build", BUILD_TIMEOUT_S)
    environment = {
        **os.environ,
        "HYPOTHESIS_PROFILE": "nightly",
        "PYTHONPATH": os.pathsep.join([str(copy), str(ROOT)]),
        "PYTHONSAFEPATH": "1",  # otherwise the source in the current folder comes before the compiled copy
    }

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )

    imported = run("-c", "import timingwheel.timer; print(timingwheel.timer.__file__)")
    assert not imported.stdout.strip().endswith(".py"), "the tests would import the interpreted wheel"
    excluded = [f"--ignore=tests/timingwheel/test_wheel_{name}.py" for name in ("compiled", "benchmark")]
    tests = run("-m", "pytest", "-q", "tests/timingwheel", *excluded)
    assert tests.returncode == 0, tests.stdout
