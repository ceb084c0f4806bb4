"""Test files that a change can break: a small tree of files stands in for the project."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from affected.__main__ import selection
from affected.changes import Change, changed_lines, changes_since, default_base, lines_of_functions
from affected.choose import choose, distances_of
from affected.graph import ImportGraph
from costs.table import CostOfTest

TREE = {
    "fakebroker/__init__.py": """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from fakebroker.server import Server
def __getattr__(name): ...
_LAZY = {"Server": "fakebroker.server"}
""",
    "fakebroker/core.py": "from fakebroker.log import Log\nif TYPE_CHECKING:\n    import fakebroker.server\n",
    "fakebroker/log.py": "class Log: ...\n",
    "fakebroker/server.py": "import fakebroker.core\nPAGE = 'page.html'\n",
    "fakebroker/page.html": "",
    "fakebroker/cli.py": "from importlib import import_module\nimport_module('fakebroker.core')\n",
    "fakebroker/plugins/__init__.py": "from pkgutil import iter_modules\n",
    "fakebroker/plugins/one.py": "",
    "examples/story.py": "import fakebroker.log\n",
    "tests/conftest.py": "",
    "tests/support/batches.py": "from fakebroker.log import Log\n",
    "tests/test_links.py": "",
    "tests/near/beside.py": "",
    "tests/near/test_near.py": "import beside\n",
    "tests/test_log.py": "from fakebroker import log\n",
    "tests/test_core.py": "from support.batches import batch\nimport fakebroker.core\n",
    "tests/test_user.py": "import fakebroker\nfakebroker.Server()\n",
    "tests/test_program.py": "import subprocess\n",
    "tests/test_plugins.py": "from fakebroker.plugins import registered\n",
    "tests/test_examples.py": "FOLDER = ROOT / 'examples'\n",
    "tests/conformance/conftest.py": "",
    "tests/conformance/test_golden.py": "FILES = (ROOT / 'golden').glob('*.txt')\n",
    "tests/golden/core/answers.txt": "",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def affected(root: Path, *paths: str) -> dict[str, int] | None:
    """Return the affected test files by their names, with their distances."""
    distances = distances_of(ImportGraph(root), [Change(path) for path in paths])
    return None if distances is None else {Path(file).stem: distance for file, distance in distances.items()}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/test_log.py", {"test_log": 0}),
        ("tests/support/batches.py", {"test_core": 1}),
        ("tests/near/beside.py", {"test_near": 1}),
        ("fakebroker/log.py", {"test_log": 1, "test_core": 2, "test_user": 3, "test_program": 3, "test_examples": 2}),
        ("fakebroker/core.py", {"test_core": 1, "test_user": 2, "test_program": 2}),
        ("fakebroker/server.py", {"test_user": 1}),
        ("fakebroker/page.html", {"test_user": 2}),
        ("fakebroker/plugins/one.py", {"test_plugins": 2}),
        ("examples/story.py", {"test_examples": 1}),
        ("tests/golden/core/answers.txt", {"test_golden": 1}),
        ("tests/conformance/conftest.py", {"test_golden": 1}),
        ("README.md", {"test_links": 1}),
        ("tests/conftest.py", None),
        ("pyproject.toml", None),
        ("Makefile", None),
        (".ci/run", None),
        ("unheard.of", None),
    ],
)
def test_the_tests_that_import_or_read_what_changed(root: Path, path: str, expected: dict[str, int] | None) -> None:
    distances = affected(root, path)
    assert distances == expected


def test_a_file_that_is_gone_affects_those_that_still_import_it(root: Path) -> None:
    (root / "fakebroker/log.py").unlink()
    distances = affected(root, "fakebroker/log.py")
    assert distances is not None
    assert {"test_log", "test_core"} <= distances.keys()


def test_the_shortest_of_several_distances_counts(root: Path) -> None:
    distances = affected(root, "fakebroker/log.py", "tests/test_core.py")
    assert distances is not None
    assert distances["test_core"] == 0


def test_facts_are_read_again_only_if_a_file_changes(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "build" / "facts.json"
    before = ImportGraph(root, cache).dependents("fakebroker/log.py")
    assert ImportGraph(root, cache).dependents("fakebroker/log.py") == before
    (root / "tests/test_log.py").write_text("no import of it any more = 1".replace(" ", "_"))
    after = ImportGraph(root, cache).dependents("fakebroker/log.py")
    assert before is not None
    assert after is not None
    assert before.keys() - after.keys() == {"tests/test_log.py"}


class FakeTable:
    """Tells of three recorded test files; the test of test_core executes what changed."""

    def tests_of(self, path: str, lines: Iterable[int] | None = None) -> list[CostOfTest]:
        return [CostOfTest("tests/test_core.py::test_x", 1.0)]

    def costs(self) -> dict[str, float]:
        return {"tests/test_core.py": 2.0, "tests/test_log.py": 2.0, "tests/test_program.py": 2.0}


def test_what_is_recorded_not_to_execute_it_is_left_out_and_said(root: Path) -> None:
    change = Change("fakebroker/log.py", frozenset({1}))
    choice = choose(ImportGraph(root), [change], FakeTable())
    assert "tests/test_program.py" not in choice.files
    assert "tests/test_log.py" in choice.files, "it imports the file itself"
    assert choice.files.index("tests/test_core.py") < choice.files.index("tests/test_user.py")
    assert "tests/test_user.py" in choice.files, "it is not recorded"
    assert [line.split(",")[0] for line in choice.left_out] == ["1 test files import what changed"]


def test_a_change_outside_of_functions_leaves_none_out(root: Path) -> None:
    choice = choose(ImportGraph(root), [Change("fakebroker/log.py", None)], FakeTable())
    assert {"tests/test_core.py", "tests/test_log.py"} <= set(choice.files)
    assert choice.left_out == []


def test_what_does_not_fit_is_the_most_distant_and_is_said(root: Path) -> None:
    choice = choose(ImportGraph(root), [Change("fakebroker/log.py")], budget_s=4.0)
    assert choice.files == ["tests/test_log.py", "tests/test_core.py"]
    assert len(choice.left_out) == 1
    assert choice.left_out[0].startswith("3 test files at a distance of 2 imports or more do not fit 4 s")


def test_a_changed_test_file_always_fits(root: Path) -> None:
    assert choose(ImportGraph(root), [Change("tests/test_log.py")], budget_s=0.0).files == ["tests/test_log.py"]


def test_everything_is_everything(root: Path) -> None:
    choice = choose(ImportGraph(root), [Change("pyproject.toml")])
    assert choice.is_everything
    assert len(choice.files) == sum(Path(name).name.startswith("test_") for name in TREE)


def test_only_declared_markers_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nmarkers = ["slow: x", "spark", "other(x): y"]\n'
    )
    assert selection(tmp_path) == "not (slow or spark)"


def test_lines_of_a_diff() -> None:
    assert changed_lines("@@ -3,2 +4,3 @@ def f\n+a\n@@ -9 +11 @@\n@@ -20,2 +21,0 @@\n") == {4, 5, 6, 11, 21, 22}


def test_the_innermost_function_around_a_line() -> None:
    text = "X = 1\ndef f():\n    def g():\n        a()\n    b()\n# comment\n"
    assert lines_of_functions(text, {4}) == frozenset({3, 4})
    assert lines_of_functions(text, {5, 6}) == frozenset({2, 3, 4, 5})
    assert lines_of_functions(text, {1}) is None


def test_git_tells_committed_uncommitted_and_new_files(root: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=root, check=True)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "first")
    assert changes_since(root, default_base(root)) == []
    git("checkout", "-qb", "branch")
    (root / "fakebroker/log.py").write_text("class Log:\n    def f(self):\n        return 1\n")
    git("commit", "-qam", "second")
    (root / "fakebroker/core.py").unlink()
    (root / "tests/test_new.py").write_text("")
    (root / "fakebroker/log.py").write_text("class Log:\n    def f(self):\n        return 2\n")
    assert changes_since(root, "HEAD") == [
        Change("fakebroker/core.py"),
        Change("fakebroker/log.py", frozenset({2, 3})),
        Change("tests/test_new.py"),
    ]
    assert changes_since(root, default_base(root))[1] == Change("fakebroker/log.py")
