"""The table of what tests cost and execute, from what two processes recorded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from costs.__main__ import environment
from costs.report import table_lines
from costs.table import CostOfTest, CostTable
from coverage import CoverageData
from mutants.covering import Covering, in_rounds
from mutants.draw import mutants_of

SOURCE = "LIMIT = 3\n\n\ndef f():\n    return LIMIT\n\n\ndef g():\n    return 2\n"
PATH = "fakebroker/core/log/one.py"


def record(folder: Path, process: int, root: Path, tests: dict[str, set[int]], cpu_s: float = 0.5) -> None:
    """Write what one process records of tests that execute these lines of the source."""
    folder.mkdir(exist_ok=True)
    data = CoverageData(str(folder / f"lines.{process}"))
    with (folder / f"tests.{process}.jsonl").open("w") as rows:
        for node, lines in tests.items():
            data.set_context(node)
            data.add_lines({str(root / PATH): lines})
            print(json.dumps({"test": node, "wall_s": 1.0, "cpu_s": cpu_s, "outcome": "passed"}), file=rows)
    data.close()


@pytest.fixture
def table(tmp_path: Path) -> CostTable:
    (tmp_path / PATH).parent.mkdir(parents=True)
    (tmp_path / PATH).write_text(SOURCE)
    record(tmp_path / "run", 1, tmp_path, {"tests/a.py::one": {5}, "tests/a.py::two": {5}})
    record(tmp_path / "run", 2, tmp_path, {"tests/b.py::three": {5, 9}}, cpu_s=0.25)
    table = CostTable(tmp_path / "table.sqlite", tmp_path)
    assert table.add(tmp_path / "run") == 3
    return table


def nodes(tests: list[CostOfTest]) -> list[str]:
    return [test.node.rpartition("::")[2] for test in tests]


def test_the_tests_that_execute_a_line_the_cheapest_first(table: CostTable) -> None:
    assert nodes(table.tests_of(PATH, [5])) == ["three", "one", "two"]
    assert nodes(table.tests_of(PATH, [9])) == ["three"]
    assert nodes(table.tests_of(PATH, [1])) == []
    assert nodes(table.tests_of(PATH)) == ["three", "one", "two"]


def test_a_line_is_followed_to_where_it_stands_now(table: CostTable, tmp_path: Path) -> None:
    (tmp_path / PATH).write_text("# new\n# new\n" + SOURCE)
    moved = CostTable(tmp_path / "table.sqlite", tmp_path)
    assert nodes(moved.tests_of(PATH, [11])) == ["three"]
    assert nodes(moved.tests_of(PATH, [9])) == []


def test_another_run_replaces_the_rows_of_its_files(table: CostTable, tmp_path: Path) -> None:
    record(tmp_path / "again", 1, tmp_path, {"tests/a.py::four": {9}})
    table.add(tmp_path / "again")
    assert nodes(table.tests_of(PATH)) == ["three", "four"]
    assert table.costs() == {"tests/a.py": 0.5, "tests/b.py": 0.25}


def test_the_report_tells_what_a_file_alone_executes_and_kills(table: CostTable, tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    results.write_text(json.dumps({"mutants": [{"killed_alone": True, "killer": "tests/b.py::three"}]}))
    assert [line.split() for line in table_lines(table, [results])[1:3]] == [
        ["1.00", "2.00", "2", "1", "0", "0", "tests/a.py"],
        ["0.25", "1.00", "1", "2", "1", "1", "tests/b.py"],
    ]


def test_a_mutant_meets_the_tests_of_its_line_or_of_the_uses_of_its_name(table: CostTable, tmp_path: Path) -> None:
    covering = Covering(table, tmp_path)
    of_line = {m.line: nodes(covering.tests(m)) for m in mutants_of(SOURCE.encode(), PATH)}
    assert of_line == {1: ["one", "three", "two"], 9: ["three"]}


def test_all_files_get_the_same_time() -> None:
    tests = [CostOfTest("a::1", 0.1), CostOfTest("a::2", 0.3), CostOfTest("a::3", 0.4), CostOfTest("b::1", 0.4)]
    assert [test.node for test in in_rounds(tests, "fakebroker/x.py")] == ["a::1", "a::2", "b::1", "a::3"]


def test_a_run_is_recorded_by_test(tmp_path: Path) -> None:
    """The plugin itself, in a process of its own, with a test that executes a line of the wheel."""
    root = Path(__file__).parents[3]
    (tmp_path / "test_it.py").write_text(
        "def test_wheel():\n    from timingwheel import SystemTimer\n    SystemTimer(0)\n\ndef test_none():\n    pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "costs.recording", "-p", "no:cacheprovider", "test_it.py"]
    (tmp_path / "run").mkdir()
    subprocess.run(command, cwd=tmp_path, env=environment(root, tmp_path / "run"), check=True, capture_output=True)
    table = CostTable(tmp_path / "table.sqlite")
    assert table.add(tmp_path / "run") == 2
    assert nodes(table.tests_of("timingwheel/timer.py")) == ["test_wheel"]
