"""Runs of pytest in processes of their own, with the plugin as it is here."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

PLUGIN = "fakebroker.testing.plugin.hooks"
# Where the package is installed, pytest finds it by itself.
IS_INSTALLED = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
ROOT = Path(__file__).resolve().parents[3]

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run(text of a test file, *arguments, ini="")`."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    # With any of these pytest behaves in another way than at a terminal.
    for name in ("PYTEST_ADDOPTS", "CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)

    def run(text: str, *arguments: str, ini: str = "") -> pytest.RunResult:
        pytester.makeini(f"[pytest]\naddopts = --strict-markers -p no:cacheprovider\nfilterwarnings = error\n{ini}")
        pytester.makepyfile(test_it=text)
        plugin = () if IS_INSTALLED else ("-p", PLUGIN)
        return pytester.runpytest_subprocess(*plugin, *arguments, timeout=300)

    return run
