"""The test files that a set of changes can break, in the order in which they are worth running, within a budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Protocol

from support.mirrored import distance_of

from affected.changes import Change
from affected.graph import ImportGraph

# A change here may break anything.
EVERYTHING = ("pyproject.toml", "setup.py", "build_backend.py", "MANIFEST.in", "Makefile", ".ci/", "tests/conftest.py")
UNKNOWN_COST_S = 2.0  # CPU time of a test file that is not in the table, in `make quick`'s dose
TRACED = 2.0  # the table's seconds are about twice those without tracing
BUDGET_S = 75.0  # of CPU time: under a minute on two quiet cores, start and collection included


class Executed(Protocol):
    """A test in the table of costs: its test file and its CPU seconds, as recorded."""

    @property
    def file(self) -> str: ...
    @property
    def cpu_s(self) -> float: ...


class Table(Protocol):
    """The queries to the table of costs (costs.table.CostTable)."""

    def tests_of(self, path: str, lines: Iterable[int] | None = None) -> Sequence[Executed]: ...
    def costs(self) -> dict[str, float]: ...


@dataclass
class Choice:
    """`files` are to be run, in this order. `left_out` says what is not run, and why."""

    files: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    is_everything: bool = False


def choose(
    graph: ImportGraph, changes: Sequence[Change], table: Table | None = None, budget_s: float = BUDGET_S
) -> Choice:
    """Return the test files that the changes can break."""
    distances = distances_of(graph, changes)
    if distances is None:
        return Choice(graph.tests, is_everything=True)
    choice = Choice()
    executing = _executing(changes, table) if table else {}
    known = table.costs() if table else {}
    candidates = set(distances)
    changed = {change.path for change in changes}
    distant = {file for file, distance in distances.items() if distance > 1}  # what imports it directly is always run
    if table and (idle := _idle(graph, changes, distant, executing, known)):
        candidates -= idle
        choice.left_out.append(
            f"{len(idle)} test files import what changed, but none of their recorded tests executes a changed function"
        )
    used = 0.0
    late: list[str] = []
    nearness = {file: min(distance_of(file, path) for path in changed) for file in candidates}

    def order(file: str) -> tuple[bool, bool, bool, int, int, float, str]:
        """Changed test files come first, then the mirrors of what changed, then those recorded to execute it, by
        folder, then others by distance; the cheapest of equals first."""
        runs_it, near = file in executing, nearness[file]
        rank = near if runs_it else distances[file]
        return distances[file] > 0, near > 0, not runs_it, rank, near, known.get(file, 0.0), file

    for file in sorted(candidates, key=order):
        cost_s = known[file] / TRACED if file in known else UNKNOWN_COST_S
        if used + cost_s > budget_s and file not in changed:
            late.append(file)
        else:
            used += cost_s
            choice.files.append(file)
    if late:
        nearest = min(distances[file] for file in late)
        choice.left_out.append(
            f"{len(late)} test files at a distance of {nearest} imports or more do not fit "
            f"{budget_s:.0f} s of CPU time: {', '.join(late[:3])}{' ...' if len(late) > 3 else ''}"
        )
    return choice


def distances_of(graph: ImportGraph, changes: Sequence[Change]) -> dict[str, int] | None:
    """Return the test files that import what changed, with their shortest distances; None for every test file."""
    distances: dict[str, int] = {}
    for change in changes:
        path = change.path
        if any(path == pattern or (pattern.endswith("/") and path.startswith(pattern)) for pattern in EVERYTHING):
            return None
        dependents = _below(graph, path) if PurePosixPath(path).name == "conftest.py" else graph.dependents(path)
        if dependents is None:
            return None  # no file names it, so it may concern any test
        for file, distance in dependents.items():
            if file in graph.tests:
                distances[file] = min(distance, distances.get(file, distance))
    return distances


def _below(graph: ImportGraph, conftest: str) -> dict[str, int]:
    folder = conftest.rpartition("/")[0]
    return {file: 1 for file in graph.tests if file.startswith(f"{folder}/")}


def _executing(changes: Sequence[Change], table: Table) -> dict[str, float]:
    """Return by test file the recorded CPU time of its tests that execute a changed function."""
    seconds: dict[str, float] = {}
    for change in changes:
        if change.lines is not None:
            for test in table.tests_of(change.path, change.lines):
                seconds[test.file] = seconds.get(test.file, 0.0) + test.cpu_s
    return seconds


def _idle(
    graph: ImportGraph,
    changes: Sequence[Change],
    candidates: set[str],
    executing: dict[str, float],
    known: dict[str, float],
) -> set[str]:
    """Return the recorded test files that execute none of the changed functions. If something else than a function of
    the measured packages changed, the test files that import it are not among them."""
    other = [change for change in changes if change.lines is None or not _is_measured(change.path)]
    by_import = set(distances_of(graph, other) or ())
    return {file for file in candidates if file in known and file not in executing and file not in by_import}


def _is_measured(path: str) -> bool:
    return path.startswith(("fakebroker/", "timingwheel/"))
