"""A test that hangs is ended, at any place (support/hangs.py)."""

from __future__ import annotations

import faulthandler
import os
from pathlib import Path

import pytest
from support import hangs
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
    options = ["-p", "support.hangs", "-o", "hang_limit_s=1"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = forks.run("-m", "pytest", *options, cwd=tmp_path, env=environment)
    assert done.returncode == 1
    assert "Timeout (0:00:01)!" in done.stderr
    assert f'"{tmp_path / "test_hangs.py"}"' in done.stderr
    assert "passed" not in done.stdout


def test_the_limit_begins_again_with_a_later_test_and_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    times_s: list[float] = []
    started_s: list[float] = []
    monkeypatch.setattr(hangs, "monotonic", lambda: times_s[-1])
    monkeypatch.setattr(faulthandler, "dump_traceback_later", lambda *_, **__: started_s.append(times_s[-1]))
    limit = hangs.Limit(100.0)
    for time_s in (5.0, 6.0, 14.0, 16.0, 17.0, 27.0):
        times_s.append(time_s)
        next(limit.pytest_runtest_protocol(request.node))
    limit.pytest_exception_interact(request.node)
    assert started_s == [5.0, 16.0, 27.0, 27.0]
