"""The tests that run every day, and those on request."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from support import doses
from support.forked import Forks

pytest_plugins = ("pytester",)

TESTS = """
import pytest

def test_everyday(): pass
@pytest.mark.nightly
def test_nightly(): pass
@pytest.mark.languages
@pytest.mark.parametrize("name", ["go", "java"])
def test_language(name): pass
@pytest.mark.nightly
@pytest.mark.languages
def test_language_at_night(): pass
@pytest.mark.soak
class TestSoak:
    def test_it(self): pass
"""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", set()),
        ("nightly", {"nightly"}),
        (" soak, languages,", {"soak", "languages"}),
        ("all", set(doses.WORDS)),
        ("soak,all", set(doses.WORDS)),
    ],
)
def test_words_of_the_variable(value: str, expected: set[str]) -> None:
    assert doses.requested({"FAKEBROKER_TESTS": value}) == expected
    assert doses.requested({}) == set()


def test_a_mark_expression_requests_the_words_that_it_mentions() -> None:
    assert doses.requested({}, "nightly and not slow") == {"nightly"}
    assert doses.requested({"FAKEBROKER_TESTS": "soak"}, "languages or not nightlyish") == {"soak", "languages"}


def test_an_unknown_word_is_refused_in_one_sentence() -> None:
    with pytest.raises(doses.UnknownWord, match=r"^FAKEBROKER_TESTS has night, weekly; it takes nightly, languages"):
        doses.requested({"FAKEBROKER_TESTS": "weekly,night,soak"})


def test_seeds_by_dose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAKEBROKER_SEEDS", raising=False)
    monkeypatch.setenv("FAKEBROKER_TESTS", "")
    assert (doses.count(3, 12), doses.seeds(20, 500)) == (3, 20)
    monkeypatch.setenv("FAKEBROKER_TESTS", "nightly")
    assert (doses.count(3, 12), doses.seeds(20, 500)) == (12, 500)
    monkeypatch.setenv("FAKEBROKER_SEEDS", "7")
    assert doses.seeds(20, 500) == 7


def test_cases_after_the_first_are_nightly() -> None:
    cases = doses.nightly_after(1, ["a", "b", ("c", "d"), pytest.param("e", id="named", marks=pytest.mark.slow)])
    assert cases[0] == "a"
    assert [case.values for case in cases[1:]] == [("b",), ("c", "d"), ("e",)]
    assert [[mark.name for mark in case.marks] for case in cases[1:]] == [["nightly"], ["nightly"], ["slow", "nightly"]]
    assert cases[3].id == "named"


class Named(NamedTuple):
    a: str


def test_a_named_tuple_is_one_argument() -> None:
    assert doses.nightly_after(0, [Named("a")])[0].values == (Named("a"),)


def test_cases_that_are_not_chosen_are_nightly() -> None:
    first, second = doses.nightly_but(["b"], ["a", "b"])
    assert (first.values, second) == (("a",), "b")
    with pytest.raises(ValueError, match=r"not among the cases: \['z'\]"):
        doses.nightly_but(["z"], ["a", "b"])


Run = Callable[..., pytest.RunResult]
FILE = "test_kinds.py"


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, forks: Forks) -> Run:
    """`run(*arguments)` runs a file with a test of each kind, below the project's own conftest.py."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=":")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("FAKEBROKER_TESTS", raising=False)
    markers = ("slow", "spark", "interpreted", *doses.WORDS)
    pytester.makeini("[pytest]\nmarkers =\n" + "".join(f" {name}: x\n" for name in markers))
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text())
    pytester.makepyfile(**{FILE.removesuffix(".py"): TESTS})

    def run(*arguments: str) -> pytest.RunResult:
        words = (f"--basetemp={pytester.path / 'base'}", "-p", "no:cacheprovider", *arguments)
        done = forks.run("-m", "pytest", *words, cwd=pytester.path, env=os.environ)
        print(done.stdout, done.stderr)
        return pytest.RunResult(done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), 0.0)

    return run


@pytest.mark.parametrize(
    ("value", "arguments", "header", "passed"),
    [
        ("", (), "everyday", 1),
        ("nightly", (), "everyday + nightly", 2),
        ("nightly,languages", (), "everyday + nightly + languages", 5),
        ("all", (), "everyday + nightly + languages + soak", 6),
        ("", ("-m", "soak"), "everyday + soak", 1),
        ("", ("-m", "languages"), "everyday + languages", 2),
    ],
)
def test_what_runs(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    value: str,
    arguments: tuple[str, ...],
    header: str,
    passed: int,
) -> None:
    monkeypatch.setenv("FAKEBROKER_TESTS", value)
    outcome = run(*arguments)
    outcome.assert_outcomes(passed=passed, deselected=6 - passed)
    assert f"dose: {header}\n" in outcome.stdout.str()


@pytest.mark.parametrize(
    ("name", "passed"),
    [("test_nightly", 1), ("test_language", 2), ("test_language[go]", 1), ("TestSoak", 1), ("TestSoak::test_it", 1)],
)
def test_a_test_that_is_named_runs(run: Run, name: str, passed: int) -> None:
    outcome = run(f"{FILE}::{name}")
    outcome.assert_outcomes(passed=passed)


def test_a_file_that_is_named_runs_its_everyday_tests(run: Run) -> None:
    run(FILE).assert_outcomes(passed=1, deselected=5)


def test_an_unknown_word_ends_pytest(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKEBROKER_TESTS", "weekly")
    outcome = run()
    assert outcome.ret == pytest.ExitCode.USAGE_ERROR
    assert "FAKEBROKER_TESTS has weekly; it takes nightly, languages, soak and all" in outcome.stderr.str()
