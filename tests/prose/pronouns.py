"""Find local variables that are named by a pronoun, so that a reader must look for what they hold.

Parameters, fields and attributes are not looked at: tests and callers name them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .lint import ROOT, Problem

PRONOUNS: Final = frozenset({"asked", "each", "found", "told"})

# All folders that have Python files.
FOLDERS: Final = ("benchmarks", "conformance", "examples", "fakebroker", "load", "release", "tests", "timingwheel")


def problems() -> Iterator[Problem]:
    """Return the local variables of FOLDERS that break the rule."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield from problems_of(file.read_text(encoding="utf-8"), file.relative_to(ROOT))


def problems_of(source: str, path: str | Path) -> Iterator[Problem]:
    bound = {(line, name) for line, name in _bound(ast.parse(source)) if name in PRONOUNS}
    for line, name in sorted(bound):
        yield Problem(str(path), line, "pronoun", f"`{name}`: name what it holds")


def _bound(tree: ast.Module) -> Iterator[tuple[int, str | None]]:
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    fields = {field.target for node in classes for field in node.body if isinstance(field, ast.AnnAssign)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in fields:
            yield node.lineno, node.id
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            yield node.lineno, node.name
