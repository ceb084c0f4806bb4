"""Runs of pytest in processes of their own, with the plugin as it is here.

They load our plugin by its name and none of the others that are installed, which take seconds to import. One test finds
ours by its entry point, as users do (test_fixtures.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

PLUGIN = "fakebroker.testing.plugin.hooks"
ROOT = Path(__file__).resolve().parents[3]

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run(text of a test file, *arguments, ini="", plugins=(PLUGIN,))`. Without plugins pytest looks for them."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    # With any of these pytest behaves in another way than at a terminal.
    for name in ("PYTEST_ADDOPTS", "CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)

    def run(text: str, *arguments: str, ini: str = "", plugins: Sequence[str] = (PLUGIN,)) -> pytest.RunResult:
        pytester.makeini(f"[pytest]\naddopts = --strict-markers -p no:cacheprovider\nfilterwarnings = error\n{ini}")
        pytester.makepyfile(test_it=text)
        if plugins:
            monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            plugins = (*plugins, "xdist") if "-n" in arguments else plugins
        named = [word for plugin in plugins for word in ("-p", plugin)]
        return pytester.runpytest_subprocess(*named, *arguments, timeout=300)

    return run
