"""The order of the tests, and their distribution to the processes of xdist."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[2]


class OneProcessForSpark(LoadScopeScheduling):  # type: ignore[misc]
    """A scheduler that gives each test to a free process. Those of all files with the marker `spark` go to one process,
    and so do those of each file with the marker `one_process`: a fixture of the module takes longer than its tests."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "spark" if has_marker(file, "spark") else file if has_marker(file, "one_process") else nodeid

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Forget what is complete: xdist counts all that a process was ever given after each test."""
        super().mark_test_complete(node, item_index, duration)
        given = self.assigned_work[node]
        scope = self._split_scope(self.registered_collections[node][item_index])
        if all(given[scope].values()):
            del given[scope]


@cache
def has_marker(file: str, name: str) -> bool:
    """Return True if a file of tests uses this marker. The scheduler knows only names."""
    path = ROOT / file
    return path.is_file() and f"pytest.mark.{name}" in path.read_text(encoding="utf-8")


def sort(items: list[pytest.Item]) -> None:
    """Put long tests first: the process that finishes last should not begin with one at the end."""
    items.sort(key=lambda item: 0 if _needs_spark(item) else 1 if item.get_closest_marker("slow") else 2)


def draw_order(items: list[pytest.Item], seed: str) -> None:
    """Shuffle the tests by `seed`. Those of Spark stay first, file by file: a fixture of one of their modules judges
    hundreds of histories, and is set up again whenever a test of another module came between."""
    Random(seed).shuffle(items)
    files: dict[Path, int] = {}
    for item in items:
        files.setdefault(item.path, len(files))
    items.sort(key=lambda item: (0, files[item.path]) if _needs_spark(item) else (1, 0))


def _needs_spark(item: pytest.Item) -> bool:
    return item.get_closest_marker("spark") is not None
