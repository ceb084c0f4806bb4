"""Find names of tests that are not plain: they make software a person, or begin in the middle of a sentence.

Names are those of functions and classes, and the ids of cases. A case has its id in a key of a dict, in `id=` or
`ids=`, or at the beginning of a row of a table. A text of one word is data, such as the name of a topic, and so is a
text with signs of code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from .lint import PERSONS, ROOT, Problem

# "A cluster whose port is in use" is plain English, and shorter than the other ways to say it.
WORDS: Final = frozenset(PERSONS) - {"whose"}

# Data of the product: kinds of findings of the load's verdict (load/fakebroker_load/judging/mismatches.py), and a
# situation (fakebroker/testing/seeds/situations.py).
DATA: Final = re.compile(r"(sent|answered) by nobody|under an epoch of nobody|^parked while nobody could lead$")

# A name that begins so needs the test before it, or the text below it.
_RIDDLE: Final = re.compile(r"^test_(?:and|but|nor|of|or|so)_")

_ROW: Final = (ast.Tuple, ast.Call)
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def problems() -> Iterator[Problem]:
    """Return the names that break the rule."""
    for file in sorted((ROOT / "tests").rglob("*.py")):
        if file.parent == Path(__file__).parent:
            continue  # its tests have bad names as examples
        yield from problems_of(file.read_text(encoding="utf-8"), file.relative_to(ROOT))


def problems_of(source: str, path: str | Path) -> Iterator[Problem]:
    seen = set()
    for line, name in names(source):
        words = re.findall(r"[a-z]+", _CAPITAL.sub("_", name).lower())
        if (line, name) in seen or DATA.search(name):
            continue
        seen.add((line, name))
        if bad := [word for word in words if word in WORDS]:
            yield Problem(str(path), line, "name", f"{bad[0]!r} in {name!r}: {PERSONS[bad[0]]}")
        elif _RIDDLE.match(name):
            yield Problem(str(path), line, "name", f"{name!r} begins in the middle of a sentence")
        elif re.search(r"_(?:stands?|stood)_still", name):
            yield Problem(str(path), line, "name", f"{name!r}: say paused or frozen")


def names(source: str) -> Iterator[tuple[int, str]]:
    """Return the names of functions and classes, and the ids of cases, each with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        else:
            for text in _ids(node):
                if isinstance(text, ast.Constant) and isinstance(text.value, str) and _is_id(text.value):
                    yield text.lineno, text.value


def _ids(node: ast.AST) -> Sequence[ast.expr | None]:
    if isinstance(node, ast.Dict):
        return node.keys
    if isinstance(node, ast.keyword) and node.arg in ("id", "ids"):
        return node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
    if isinstance(node, ast.List):
        rows = (row.elts if isinstance(row, ast.Tuple) else row.args for row in node.elts if isinstance(row, _ROW))
        return [cells[0] for cells in rows if cells]
    return ()


def _is_id(text: str) -> bool:
    return " " in text.strip() and not re.search(r"[`={]", text)
