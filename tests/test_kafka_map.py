"""docs/kafka-map.md names what there is: its files, functions, classes, decisions, and every module of the core. Its
links are looked at in test_links.py, with those of all pages."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGE = (DOCS / "kafka-map.md").read_text()
HEADER = ("Kafka", "ours", "difference and reason")
AREAS = (
    "Network",
    "Request handling",
    "Settings",
    "Quotas",
    "Append and validation",
    "Producer state",
    "Retention",
    "Replication and ISR",
    "Elections",
    "Fetch",
    "Purgatory and timer",
    "Coordinators and groups",
    "Transactions",
    "The journal",
    "Faults",
    "The producer",
)


class Row(NamedTuple):
    area: str
    kafka: str
    ours: str
    difference: str


def rows(page: str) -> list[Row]:
    """The rows of all tables, under the heading that each stands below."""
    rows_ = []
    area = ""
    for line in page.splitlines():
        if line.startswith("## "):
            area = line.removeprefix("## ")
        elif line.startswith("|"):
            cells = tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
            assert len(cells) == 3, line
            if cells != HEADER and set("".join(cells)) != {"-"}:
                rows_.append(Row(area, *cells))
    return rows_


def path_of(name: str) -> Path:
    """A file as the page names it: relative to the package, or to the root."""
    inside = ROOT / "fakebroker" / name
    return inside if inside.exists() else ROOT / name


@cache
def names_in(path: Path) -> frozenset[str]:
    """The functions and classes of a file: `f`, `C`, and a method of C as `m` and as `C.m`."""
    return frozenset(_names(ast.parse(path.read_text())))


def _names(tree: ast.AST) -> list[str]:
    names: list[str] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.ClassDef):
            inner = _names(node)
            names += [node.name, *inner, *(f"{node.name}.{name}" for name in inner)]
    return names


def problems(row: Row) -> list[str]:
    """Return the problems of the second cell of a row."""
    if row.ours == "none":
        return []
    path: Path | None = None
    problems_ = []
    for name in re.findall(r"`([^`]+)`", row.ours):
        if name.endswith(".py"):
            path = path_of(name)
            if not path.is_file():
                problems_.append(f"there is no {name}")
                path = None
        elif path is None:
            problems_.append(f"{name} stands behind no file")
        elif name not in names_in(path):
            problems_.append(f"{path.name} has no {name}")
    if "`" not in row.ours:
        problems_.append("nothing is named")
    return problems_


def test_what_a_row_names_is_there() -> None:
    assert {row.kafka: missing for row in rows(PAGE) if (missing := problems(row))} == {}


def test_a_row_is_complete() -> None:
    assert [row for row in rows(PAGE) if "`" not in row.kafka] == [], "nothing of Kafka's is named"
    assert [row for row in rows(PAGE) if not row.difference] == [], "neither a difference nor none"
    assert [row for row in rows(PAGE) if row.ours == row.difference == "none"] == [], "what is missing has a reason"


def test_each_area_has_its_table() -> None:
    assert tuple(dict.fromkeys(row.area for row in rows(PAGE))) == AREAS


def test_every_module_of_the_core_is_named() -> None:
    package = ROOT / "fakebroker"
    modules = {
        str(path.relative_to(package))
        for room in ("core", "network", "cluster", "producer")
        for path in (package / room).rglob("*.py")
        if path.stem != "__init__"
    }
    assert modules <= set(re.findall(r"`([^`]+\.py)`", PAGE))


def test_every_file_on_the_page_is_there() -> None:
    assert [name for name in re.findall(r"`([^`]+\.py)`", PAGE) if not path_of(name).is_file()] == []


def test_a_decision_is_linked_by_its_number() -> None:
    """`[decision 7][d7]`, and `[d7]: decisions.md#7-...`: a decision that gets another number is noticed here."""
    used = re.findall(r"\[(?:decision )?(\d+)\]\[d(\d+)\]", PAGE)
    defined = re.findall(r"^\[d(\d+)\]: decisions\.md#(\d+)-", PAGE, re.MULTILINE)
    assert used
    assert all(shown == target for shown, target in used + defined)
    assert {target for _, target in used} == {number for number, _ in defined}
    assert len(used) == len(re.findall(r"\]\[d\d+\]", PAGE))


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ("`core/replication/replica.py` `Replica.reset`, `is_caught_up`; `core/log/log.py` `Log`", []),
        ("none", []),
        ("`core/replicas.py` `Replica`", ["there is no core/replicas.py", "Replica stands behind no file"]),
        (
            "`core/replication/replica.py` `Log.reset`, `rest`",
            ["replica.py has no Log.reset", "replica.py has no rest"],
        ),
        ("`Replica`; `core/replication/replica.py`", ["Replica stands behind no file"]),
        ("nothing", ["nothing is named"]),
    ],
)
def test_a_slip_is_found(ours: str, expected: list[str]) -> None:
    assert problems(Row("", "", ours, "")) == expected
