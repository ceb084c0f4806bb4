"""A run of chosen tests against a mutant: the order, the first failure, and the bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from costs.table import CostOfTest
from mutants import trial
from mutants.checkout import changed
from mutants.random_run import FIRST_STAGE_FILES, stages, within_budget
from mutants.trial import Outcome, run_tests

TESTS = Path(__file__).parents[2]
FILE = "tests/test_it.py"
SOURCE = """
def test_passes(): pass
def test_fails(): assert False
def test_loops():
    while True: pass
def test_takes_memory(): bytearray(64 << 30)
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    (tmp_path / "copy" / "tests").mkdir(parents=True)
    (tmp_path / "copy" / "tests" / "mutants").symlink_to(TESTS / "mutants")
    (tmp_path / "copy" / FILE).write_text(SOURCE)
    return tmp_path / "copy"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["passes"], Outcome(None, "", 1)),
        (["passes", "fails", "loops"], Outcome(f"{FILE}::test_fails", "test", 2)),
        (["passes", "loops", "fails"], Outcome(f"{FILE}::test_loops", "CPU time", 2)),
        (["takes_memory"], Outcome(f"{FILE}::test_takes_memory", "memory", 1)),
    ],
)
def test_an_outcome(
    copy: Path, tmp_path: Path, names: list[str], expected: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "BASE_CPU_S", 2)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take longer to import than the rest
    assert run_tests(copy, [f"{FILE}::test_{name}" for name in names], 0.0, tmp_path / "chosen") == expected


def test_a_file_has_its_text_again_after_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_bytes(b"x = 1\r\n")

    def fail() -> None:
        with changed(path, b"x = 2\r\n"):
            assert path.read_bytes() == b"x = 2\r\n"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"x = 1\r\n"


def test_the_first_stage_has_few_files_and_keeps_the_order() -> None:
    tests = [CostOfTest(f"tests/{n % 9}.py::{n}", 0.01) for n in range(90)] + [CostOfTest("tests/0.py::long", 60.0)]
    first, rest = stages(tests)
    assert len({test.file for test in first}) == FIRST_STAGE_FILES
    assert first == [test for test in tests if test in first]
    assert sorted(first + rest) == sorted(tests)
    assert tests[-1] in rest


def test_what_does_not_fit_the_budget_is_passed_over() -> None:
    tests = [CostOfTest("a", 3.0), CostOfTest("b", 9.0), CostOfTest("c", 2.0)]
    assert list(within_budget(tests, 6.0)) == [tests[0], tests[2]]
    assert list(within_budget(tests[1:], 6.0)) == tests[1:2]
