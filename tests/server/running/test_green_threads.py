"""FakeCluster where gevent or eventlet has replaced threads (server/running/green_threads.py)."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
from support.watchdog import LIMIT_S

from fakebroker import FakeCluster

PATCHED = {
    "gevent": ("gevent.monkey", "is_module_patched", "gevent.monkey.patch_all"),
    "eventlet": ("eventlet.patcher", "is_monkey_patched", "eventlet.monkey_patch"),
}


@pytest.mark.parametrize("library", PATCHED)
def test_threads_that_are_greenlets_are_refused(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, asks, patch = PATCHED[library]
    monkeypatch.setitem(sys.modules, module, SimpleNamespace(**{asks: lambda name: True}))
    with pytest.raises(RuntimeError) as refused:
        FakeCluster(brokers=1).start()
    assert str(refused.value).startswith(f"{library} has put greenlets in the place of threads")
    assert f"{patch}(thread=False)" in str(refused.value)


@pytest.mark.parametrize("library", PATCHED)
def test_threads_that_are_threads_are_not(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, asks, _ = PATCHED[library]
    monkeypatch.setitem(sys.modules, module, SimpleNamespace(**{asks: lambda name: False}))
    with FakeCluster(brokers=1) as kafka:
        assert kafka.bootstrap_servers


PROGRAM = """
import {module}
{patch}({arguments})
from fakebroker import FakeCluster
try:
    with FakeCluster(brokers=1):
        print("started")
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize("arguments", ["", "thread=False"])
@pytest.mark.parametrize("library", PATCHED)
def test_the_real_library(library: str, arguments: str) -> None:
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    module, _, patch = PATCHED[library]
    program = PROGRAM.format(module=module, patch=patch, arguments=arguments)
    ran = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=LIMIT_S)
    assert ran.stdout.startswith("started" if arguments else f"{library} has put greenlets"), ran.stderr
