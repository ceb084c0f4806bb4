"""The processes of xdist rewrite the asserts of test modules in shares."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import rewriting
from support.rewriting import rewrite_share


def test_each_process_rewrites_its_share_once(
    pytestconfig: pytest.Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewriting, "TESTS", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for number in range(5):
        (tmp_path / f"test_{number}.py").write_text(f"def test_it():\n    assert {number} == 1\n")
    (tmp_path / "helper.py").touch()

    assert [rewrite_share(pytestconfig, number, 2) for number in (0, 1, 0, 1)] == [3, 2, 0, 0]
    kept = [path.name for path in (tmp_path / "__pycache__").iterdir()]
    assert sorted(name.partition(".")[0] for name in kept) == [f"test_{number}" for number in range(5)]
    assert all("-pytest-" in name for name in kept)
