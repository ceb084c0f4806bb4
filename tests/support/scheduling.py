"""The distribution of tests to the processes of xdist."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[2]


class OneProcessForSpark(LoadScopeScheduling):  # type: ignore[misc]
    """A scheduler that gives each test to a free process, and those of files with the marker `spark` to one process."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if uses_spark(nodeid.partition("::")[0]) else nodeid

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Forget what is complete: xdist counts all that a process was ever given after each test."""
        super().mark_test_complete(node, item_index, duration)
        given = self.assigned_work[node]
        scope = self._split_scope(self.registered_collections[node][item_index])
        if all(given[scope].values()):
            del given[scope]


@cache
def uses_spark(file: str) -> bool:
    path = ROOT / file
    return path.is_file() and "pytest.mark.spark" in path.read_text(encoding="utf-8")
