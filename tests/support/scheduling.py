"""The order of the tests, and which of them run in the same worker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest


def units(items: Sequence[pytest.Item]) -> list[list[int]]:
    """Return the indices of tests that go to one worker together, in the order of the first of each: all of Spark, so
    that there is one JVM, and those of each file with the marker `one_process`. Any other test goes alone."""
    indexes: dict[object, list[int]] = {}
    for index, item in enumerate(items):
        scope: object = index
        if _needs_spark(item):
            scope = "spark"
        elif item.get_closest_marker("one_process"):
            scope = item.path
        indexes.setdefault(scope, []).append(index)
    return list(indexes.values())


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
