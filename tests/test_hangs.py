"""A test that hangs is ended, at any place (support/hangs.py)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.forked import Forks

HANGS = "signal.pause()  # for ever"
TESTS = {
    "test": f"def test_it():\n    {HANGS}\n",
    "teardown": f"@pytest.fixture\ndef hangs():\n    yield\n    {HANGS}\n\ndef test_it(hangs):\n    pass\n",
    "teardown after a failure": (
        f"@pytest.fixture\ndef hangs():\n    yield\n    {HANGS}\n\ndef test_it(hangs):\n    assert False\n"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", TESTS.values(), ids=list(TESTS))
def test_a_test_that_hangs_is_ended_with_its_stack(text: str, tmp_path: Path, forks: Forks) -> None:
    (tmp_path / "test_hangs.py").write_text(f"import signal\nimport pytest\n\n{text}")
    options = ["-p", "support.hangs", "-o", "faulthandler_timeout=1", "-o", "faulthandler_exit_on_timeout=true"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = forks.run("-m", "pytest", *options, cwd=tmp_path, env=environment)
    assert done.returncode == 1
    assert "Timeout (0:00:01)!" in done.stderr
    assert f'"{tmp_path / "test_hangs.py"}"' in done.stderr
    assert "passed" not in done.stdout
