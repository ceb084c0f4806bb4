"""The doses of the tests: what runs every day, and what runs only on request.

FAKEBROKER_TESTS   a comma-separated list of the words below, or `all`. Each word is a marker. A test with one of these
                   markers is deselected unless each of its words is requested: here, with `-m WORD`, or by the test's
                   name on the command line (`pytest tests/test_it.py::test_case`).
Theory             The choice is fixed. A test runs every day or it does not; no draw decides.
                   `nightly` also selects more Hypothesis examples and more seeds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "FAKEBROKER_TESTS"
NIGHTLY, LANGUAGES, SOAK = WORDS = ("nightly", "languages", "soak")  # each of them a marker
ALL = "all"


class UnknownWord(ValueError):
    """FAKEBROKER_TESTS has a word that selects nothing."""


def requested(environment: Mapping[str, str], mark_expression: str = "") -> frozenset[str]:
    """Return the words that the environment or the expression of `-m` mentions."""
    words = {word.strip() for word in environment.get(VARIABLE, "").split(",")} - {""}
    if unknown := sorted(words - {*WORDS, ALL}):
        raise UnknownWord(f"{VARIABLE} has {', '.join(unknown)}; it takes {', '.join(WORDS)} and {ALL}")
    if ALL in words:
        return frozenset(WORDS)
    return frozenset(words | (set(re.findall(r"\w+", mark_expression)) & set(WORDS)))


def is_nightly() -> bool:
    """Return True if the environment requests the doses of the night. For modules that choose their cases on import."""
    return NIGHTLY in requested(os.environ)


def count(everyday: int, nightly: int) -> int:
    """Return how many examples, cases or rounds this run looks at."""
    return nightly if is_nightly() else everyday


def seeds(everyday: int, nightly: int, variable: str = "FAKEBROKER_SEEDS") -> int:
    """Return a number of seeds: that of the variable if it is set."""
    return int(os.environ.get(variable) or count(everyday, nightly))


def nightly_after(count: int, cases: Iterable[Any]) -> list[Any]:
    """Return the cases for `parametrize`: the first so many run every day, the others only on request. A tuple is a
    case of several arguments; a NamedTuple is one."""
    return [case if index < count else _at_night(case) for index, case in enumerate(cases)]


def nightly_but(everyday: Iterable[Any], cases: Iterable[Any]) -> list[Any]:
    """Return the cases for `parametrize`: those of `everyday` run every day, the others only on request."""
    kept, all_cases = list(everyday), list(cases)
    if missing := [case for case in kept if case not in all_cases]:
        raise ValueError(f"these everyday cases are not among the cases: {missing}")
    return [case if case in kept else _at_night(case) for case in all_cases]


def _at_night(case: Any) -> Any:
    if hasattr(case, "marks"):  # made by pytest.param
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.nightly], id=case.id)
    return pytest.param(*(case if type(case) is tuple else (case,)), marks=pytest.mark.nightly)  # not a NamedTuple


def not_requested(config: pytest.Config, items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests to deselect."""
    words = requested(os.environ, config.option.markexpr)
    named = [_node(config, argument) for argument in config.args if "::" in argument]
    return [item for item in items if not _words(item) <= words and not _is_named(item, named)]


def _words(item: pytest.Item) -> set[str]:
    return {word for word in WORDS if item.get_closest_marker(word)}


def _node(config: pytest.Config, argument: str) -> tuple[Path, str]:
    file, _, name = argument.partition("::")
    return (config.invocation_params.dir / file).resolve(), name


def _is_named(item: pytest.Item, named: Iterable[tuple[Path, str]]) -> bool:
    own = item.nodeid.partition("::")[2]
    return any(
        item.path.resolve() == file and (own == name or own.startswith((f"{name}::", f"{name}[")))
        for file, name in named
    )
