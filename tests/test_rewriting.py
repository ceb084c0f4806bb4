"""A second process rewrites the asserts of test modules from the last one on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import rewriting
from support.rewriting import rewrite_from_the_end, rewriting_beside


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(rewriting, "TESTS", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for number in range(5):
        (tmp_path / f"test_{number}.py").write_text(f"def test_it():\n    assert {number} == 1\n")
    (tmp_path / "helper.py").touch()
    return tmp_path


def kept(modules: Path) -> list[str]:
    paths = list((modules / "__pycache__").iterdir())
    assert all("-pytest-" in path.name for path in paths)
    return sorted(path.name.partition(".")[0] for path in paths)


def test_each_module_is_rewritten_once(pytestconfig: pytest.Config, modules: Path) -> None:
    assert rewrite_from_the_end(pytestconfig) == 5
    assert kept(modules) == [f"test_{number}" for number in range(5)]
    (modules / "test_3.py").write_text("def test_it():\n    assert 1 + 1 == 3\n")
    assert [rewrite_from_the_end(pytestconfig) for _ in range(2)] == [1, 0]


def test_another_process_does_it(pytestconfig: pytest.Config, modules: Path) -> None:
    rewriting_beside(pytestconfig)()
    assert kept(modules) == [f"test_{number}" for number in range(5)]
    assert rewrite_from_the_end(pytestconfig) == 0
