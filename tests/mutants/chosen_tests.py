"""A pytest plugin that runs the listed tests only, in the order of the list, and says at once which one failed.

Use      `pytest -p mutants.chosen_tests FILE ...` with FAKEBROKER_CHOSEN=LIST, a file of node ids, one a line. What
         happened is written to LIST.told: `run NODE` before a test, `failed NODE` after a failure. FAKEBROKER_CPU_S and
         FAKEBROKER_MEMORY_BYTES bound the process.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

CHOSEN = os.environ.get("FAKEBROKER_CHOSEN", "")


class Chosen:
    def __init__(self, chosen: Path) -> None:
        self._order = {node: at for at, node in enumerate(chosen.read_text().splitlines())}
        self._told = chosen.with_name(f"{chosen.name}.told").open("w", buffering=1)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        left_out = [item for item in items if item.nodeid not in self._order]
        config.hook.pytest_deselected(items=left_out)
        items[:] = sorted((item for item in items if item.nodeid in self._order), key=lambda i: self._order[i.nodeid])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._told.write(f"run {item.nodeid}\n")
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._told.write(f"failed {report.nodeid}\n")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._told.write(f"failed {report.nodeid}\n")


def pytest_configure(config: pytest.Config) -> None:
    if CHOSEN:
        cpu_s, memory_bytes = (int(os.environ[name]) for name in ("FAKEBROKER_CPU_S", "FAKEBROKER_MEMORY_BYTES"))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 5))
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        config.pluginmanager.register(Chosen(Path(CHOSEN)), "chosen-tests")
