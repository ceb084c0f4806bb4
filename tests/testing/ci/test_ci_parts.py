"""The table from paths to parts of CI."""

from __future__ import annotations

import subprocess
from fnmatch import fnmatchcase

import pytest
from ci.parts import COMPILED, DEMO, EVERYTHING, INSTALL, PARTS, TABLE, TEST, chosen, parts_of
from ci.running import ROOT


@pytest.mark.parametrize(
    "path",
    [
        "Makefile",
        "fakebroker/cli.py",
        "pyproject.toml",
        "setup.py",
        "compiled.toml",
        ".ci/run",
        "tests/ci/parts.py",
        "new",
    ],
)
def test_a_path_that_may_break_anything_runs_every_part(path: str) -> None:
    assert parts_of(path) == EVERYTHING == set(PARTS)


@pytest.mark.parametrize(
    ("path", "runs", "leaves"),
    [
        ("docs/speed.md", {TEST}, {COMPILED, DEMO}),
        ("README.md", {TEST, INSTALL}, {DEMO}),
        ("load/fakebroker_load/job.py", {TEST, DEMO}, {INSTALL}),
        ("tests/core/log/test_log.py", {TEST, COMPILED}, {DEMO}),
        ("tests/load/test_load_job.py", {TEST}, {COMPILED, DEMO}),
        ("tests/golden/produce.json", {TEST, COMPILED}, {DEMO}),
        ("benchmarks/guard.json", {TEST, COMPILED}, {DEMO}),
    ],
)
def test_a_path_runs_what_it_can_break_and_no_more(path: str, runs: set[str], leaves: set[str]) -> None:
    assert parts_of(path) >= runs
    assert not parts_of(path) & leaves


def test_changes_add_up_in_the_order_of_the_parts() -> None:
    assert chosen(["docs/speed.md"]) == [TEST]
    assert chosen(["docs/speed.md", "load/fakebroker_load/job.py"]) == ["check", TEST, COMPILED, DEMO]
    assert chosen([".gitignore"]) == []
    assert chosen(None) == list(PARTS)


def test_the_tests_run_after_every_change_of_a_file_that_they_can_see() -> None:
    blind = [pattern for pattern, parts in TABLE if TEST not in parts]
    assert blind == ["LICENSE", ".gitignore", ".gitattributes"]


def test_every_row_matches_a_file_of_the_checkout() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    first = {
        next((pattern for pattern, _ in TABLE if fnmatchcase(path, pattern)), "") for path in listed.stdout.split()
    }
    assert [pattern for pattern, _ in TABLE if pattern not in first] == []
