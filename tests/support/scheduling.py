"""How xdist deals the tests to its processes."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[2]


class OneProcessForSpark(LoadScopeScheduling):  # type: ignore[misc]
    """Each test goes to whoever is free, and those of files with the marker `spark` all go to one process."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if uses_spark(nodeid.partition("::")[0]) else nodeid


@cache
def uses_spark(file: str) -> bool:
    path = ROOT / file
    return path.is_file() and "pytest.mark.spark" in path.read_text(encoding="utf-8")
