"""The tests that a random mutant meets, and their order, by the table of costs (tests/costs)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path

from affected.graph import ImportGraph, is_test
from costs.table import CostOfTest, CostTable
from support.mirrored import distance_of

from mutants.draw import ROOT, RandomMutant

FIRST_ROUND_S = 0.5  # of CPU time for each file; each further round doubles it


class Covering:
    """Finds the tests that execute the line of a mutant."""

    def __init__(self, table: CostTable, root: Path = ROOT) -> None:
        self._table = table
        self._root = root

    @cached_property
    def _graph(self) -> ImportGraph:
        return ImportGraph(self._root)

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        """The lines of every file of the two packages, by path."""
        return {
            file.relative_to(self._root).as_posix(): file.read_text(encoding="utf-8").splitlines()
            for package in ("fakebroker", "timingwheel")
            for file in sorted((self._root / package).rglob("*.py"))
        }

    def tests(self, mutant: RandomMutant) -> list[CostOfTest]:
        """Return the tests that execute what is mutated, in the order in which they are to run.

        A line that runs at import runs in no test of its own. Then the tests count that execute a line with a name it
        binds, or the body of its function. Tests of files that import the mutated file, directly or by one other,
        count too. Without any of these, all tests count that execute anything of the file, or import it.
        """
        scope = mutant.scope
        if scope.is_deferred:
            tests_ = self._table.tests_of(mutant.path, range(scope.first, scope.last + 1))
            return in_rounds(tests_, mutant.path)
        by_node: dict[str, CostOfTest] = {}
        if scope.body is not None:
            first, last = scope.body
            by_node.update((test.node, test) for test in self._table.tests_of(mutant.path, range(first, last + 1)))
        for path, lines in self.uses(mutant):
            by_node.update((test.node, test) for test in self._table.tests_of(path, lines))
        by_node.update((test.node, test) for test in self._importing(mutant.path, 2))
        tests_ = list(by_node.values()) or self._table.tests_of(mutant.path) or self._importing(mutant.path)
        return in_rounds(tests_, mutant.path)

    def _importing(self, path: str, most: int = 100) -> list[CostOfTest]:
        """Return the tests of the test files that import a file over `most` imports at most. They may look at a table
        that no function of the file reads."""
        distances = self._graph.dependents(path) or {}
        return self._table.tests_in(file for file, distance in distances.items() if is_test(file) and distance <= most)

    def uses(self, mutant: RandomMutant) -> Iterator[tuple[str, list[int]]]:
        """Yield the lines that mention a name bound by the mutated statement: all in its own file, and in others those
        that read it as an attribute or, if the file imports the name, any."""
        for name in mutant.scope.names:
            word, attribute = re.compile(rf"\b{name}\b"), re.compile(rf"\.{name}\b")
            for path, texts in self._texts.items():
                pattern = word if path == mutant.path or any(_imports(text, name) for text in texts) else attribute
                lines = [
                    number
                    for number, text in enumerate(texts, 1)
                    if pattern.search(text)
                    and not (path == mutant.path and mutant.scope.first <= number <= mutant.scope.last)
                ]
                if lines:
                    yield path, lines


def _imports(text: str, name: str) -> bool:
    return text.startswith(("from ", "    ")) and re.search(rf"(import .*\b{name}\b|^    {name},$)", text) is not None


def in_rounds(tests: Sequence[CostOfTest], path: str) -> list[CostOfTest]:
    """Order tests so that all files get the same CPU time. First come the cheapest tests of each file, as many as fit
    into half a second. Then come as many of each file as fit into one more second, and so on. The file that mirrors the
    mutated one comes first in each round, then those of its folder."""
    keyed = []
    for file, group in groupby(sorted(tests, key=lambda test: (test.file, test.cpu_s, test.node)), lambda t: t.file):
        total, distance = 0.0, distance_of(file, path)
        for test in group:
            total += test.cpu_s
            keyed.append(((_round(total), distance, file), test))
    return [test for _, test in sorted(keyed, key=lambda pair: pair[0])]


def _round(total_s: float) -> int:
    number, until = 0, FIRST_ROUND_S
    while total_s > until:
        number, until = number + 1, until * 2
    return number
