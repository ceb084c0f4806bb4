"""Files that differ from a commit, uncommitted and new files included, by git."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path
from typing import NamedTuple


class Change(NamedTuple):
    """A changed file. `lines` are those of the changed functions as the file is now; None if something outside of
    functions changed, or if the file is new, gone, or not Python."""

    path: str
    lines: frozenset[int] | None = None


class GitError(Exception):
    """git refused; its words are the message."""


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise GitError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def default_base(root: Path) -> str:
    """Return the commit at which this branch left main; HEAD if there is no main."""
    for main in ("main", "origin/main"):
        try:
            return git(root, "merge-base", "HEAD", main).strip()
        except GitError:
            continue
    return "HEAD"


def changes_since(root: Path, base: str) -> list[Change]:
    """Return the files that differ from `base`, in the order of their names."""
    names = git(root, "diff", "--name-only", "--no-renames", "-z", base, "--").split("\0")
    new = git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    return [Change(name, changed_functions(root, base, name)) for name in sorted({*names, *new} - {""})]


def changed_functions(root: Path, base: str, name: str) -> frozenset[int] | None:
    path = root / name
    if not name.endswith(".py") or not path.exists():
        return None
    diff = git(root, "diff", "--no-renames", "-U0", base, "--", name)
    if not diff or "\nnew file" in diff:
        return None
    return lines_of_functions(path.read_text(encoding="utf-8"), changed_lines(diff))


def changed_lines(diff: str) -> set[int]:
    """Return the lines, on the new side, of a diff without context. Where lines were removed, the neighbours count."""
    lines: set[int] = set()
    for start, length in re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", diff, re.M):
        first, count = int(start), int(length or "1")
        lines.update(range(first, first + count) if count else (first, first + 1))
    return lines


def lines_of_functions(text: str, lines: set[int]) -> frozenset[int] | None:
    """Return all lines of the functions in which `lines` are. None if a line is in none, and not empty or a comment."""
    texts = text.splitlines()
    spans = [
        range(node.lineno, (node.end_lineno or 0) + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    around_changes: set[int] = set()
    for line in lines:
        around = [span for span in spans if line in span]
        if around:
            around_changes.update(around[min(range(len(around)), key=lambda at: len(around[at]))])
        elif line <= len(texts) and not re.fullmatch(r"\s*(#.*)?", texts[line - 1]):
            return None
    return frozenset(around_changes)
