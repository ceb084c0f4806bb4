"""Facts for the import graph, of each file: its imports, and the strings in it that may name a file or a module.

Facts are kept under build/ for as long as a file has the same size and time: parsing all files takes seconds.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ROOTS = ("", "load", "tests")  # folders from which modules are imported
_NAME = re.compile(r"[\w.-]+(/[\w.-]+)*")
_LONGEST_NAME = 120
# Words of the text that stand for a dependency that no import shows.
WORDS = ("subprocess", "kafka_cluster", "pytester", "iter_modules", "walk_packages")


class Facts(NamedTuple):
    """`imports` has of `from a import b` both a and a.b, whichever is a module. `lazy` has the attributes that a
    package imports when they are first used, by their full name, with their modules. `used` has uses like `a.b`."""

    imports: list[str]
    strings: list[str]
    words: list[str]
    lazy: dict[str, str]
    used: list[str]


def all_facts(root: Path, files: Iterable[str], cache: Path | None = None) -> dict[str, Facts]:
    """Return the facts of each file, read from the cache where that is up to date."""
    known = json.loads(cache.read_text()) if cache is not None and cache.exists() else {}
    version = str(Path(__file__).stat().st_mtime_ns)  # of what is read from a file
    if known.pop("version", None) != version:
        known = {}
    facts = {}
    for file in files:
        state = (root / file).stat()
        stamp = f"{state.st_mtime_ns} {state.st_size}"
        if known.get(file, [""])[0] != stamp:
            known[file] = [stamp, facts_of(file, (root / file).read_text(encoding="utf-8"))]
        facts[file] = Facts(*known[file][1])
    if cache is not None:
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.write_text(json.dumps({"version": version} | {file: known[file] for file in facts}))
    return facts


def facts_of(file: str, text: str) -> Facts:
    """Read the facts from the text of a file."""
    tree = ast.parse(text)
    strings = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < _LONGEST_NAME
    }
    named = {name for string in strings if _NAME.fullmatch(string) for name in (string, string.rpartition("/")[2])}
    lazy = lazy_attributes(tree, module_names(file)[0]) if file.endswith("/__init__.py") else {}
    used = {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    words = [word for word in WORDS if word in text]
    return Facts(sorted(imported(tree, file)), sorted(named), words, lazy, sorted(used))


def module_names(file: str) -> list[str]:
    """Return the names under which a file can be imported."""
    names = []
    for root in ROOTS:
        if not root or file.startswith(f"{root}/"):
            parts = PurePosixPath(file).relative_to(root).with_suffix("").parts
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    if file.startswith("tests/"):
        names.append(PurePosixPath(file).stem)  # pytest puts the folder of each test file on the path
    return [name for name in dict.fromkeys(names) if name and name != "__init__"]


def imported(tree: ast.Module, file: str) -> set[str]:
    """Return the names that a file imports at run time."""
    names: set[str] = set()
    for node in _executed(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            bases = [node.module or ""]
            if node.level:
                packages = _packages(file, node.level)
                bases = [f"{package}.{node.module}" if node.module else package for package in packages]
            names |= {f"{base}.{alias.name}" for base in bases for alias in node.names} | set(bases)
    return names - {""}


def lazy_attributes(tree: ast.Module, package: str) -> dict[str, str]:
    """Return the lazy attributes of a package: what it imports for type checkers, if it has a `__getattr__`."""
    if not any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body):
        return {}
    return {
        f"{package}.{alias.name}": f"{node.module}.{alias.name}"
        for block in tree.body
        if _is_for_types(block)
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _executed(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield all nodes but those for type checkers, since their imports break nothing at run time."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        left += node.orelse if isinstance(node, ast.If) and _is_for_types(node) else ast.iter_child_nodes(node)


def _packages(file: str, level: int) -> list[str]:
    """Return the package that a relative import of this level begins at, under each name of the file."""
    packages = [
        PurePosixPath(file).relative_to(root).parts[:-level]
        for root in ROOTS
        if not root or file.startswith(f"{root}/")
    ]
    return [".".join(parts) for parts in packages if parts]
