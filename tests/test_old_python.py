"""A Python that is too old is told so in one sentence, on every way in (fakebroker/old_python.py)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.watchdog import LIMIT_S

ROOT = Path(__file__).resolve().parent.parent
OLD = "import sys; sys.version_info = (3, 10, 13, 'final', 0); "
SENTENCE = f"fakebroker needs Python 3.11 or later; this is Python 3.10.13, {sys.executable}\n"


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", OLD + code], check=False, capture_output=True, text=True, timeout=LIMIT_S, cwd=ROOT
    )


@pytest.mark.parametrize(
    "code",
    [
        "import fakebroker",
        "from fakebroker import FakeCluster",
        "from fakebroker.cli import main; main()",  # the console script
        "import runpy; runpy.run_module('fakebroker', run_name='__main__', alter_sys=True)",
        "import fakebroker.testing.plugin.hooks",
        "from fakebroker_load.__main__ import main; import fakebroker",
    ],
)
def test_one_sentence_and_no_traceback(code: str) -> None:
    ran = run(code)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", SENTENCE, 1)


def test_on_an_old_python_the_import_raises_import_error() -> None:
    ran = run("\ntry:\n    import fakebroker\nexcept ImportError as error:\n    print(error)\n1 / 0")
    assert ran.stdout == SENTENCE
    assert "ZeroDivisionError" in ran.stderr  # other errors are told as before


def test_pip_shows_the_sentence() -> None:
    ran = run("import build_backend")
    assert ran.stdout == ""
    assert ran.stderr.startswith("fakebroker needs Python 3.11 or later; this is Python 3.")
    assert (ran.stderr.count("\n"), ran.returncode) == (1, 1)
