"""Find messages that make software a person: texts of raise, of logs, of options, settings and HTTP fields.

A message says what is wrong, with the value, and what would be right. Kafka's own messages are not changed. They have
none of these words.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .lint import ROOT, Problem, Prose, judge

# Texts of messages are judged in these folders.
FOLDERS: Final = ("conformance", "fakebroker", "timingwheel")

_LOGS: Final = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log"})
_TEXTS: Final = frozenset({"help", "doc", "description", "epilog"})
_RULES: Final = ("person", "phrase")


def problems() -> Iterator[Problem]:
    """Return the messages that break a rule."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield from problems_of(file.read_text(encoding="utf-8"), str(file.relative_to(ROOT)))


def problems_of(source: str, path: str | Path) -> Iterator[Problem]:
    for line, text in messages(source):
        for _, rule, problem in judge(Prose(line, text, False)):
            if rule in _RULES:
                yield Problem(str(path), line, rule, f"{problem} in {text!r}")


def messages(source: str) -> Iterator[tuple[int, str]]:
    """Return each message with its line. A value in it is `X`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield from _texts(node.exc)
        elif isinstance(node, ast.Assert) and node.msg is not None:
            yield from _texts(node.msg)
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in _LOGS:
                for argument in node.args:
                    yield from _texts(argument)
            for keyword in node.keywords:
                if keyword.arg in _TEXTS:
                    yield from _texts(keyword.value)


def _texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node.lineno, node.value
    elif isinstance(node, ast.JoinedStr):
        parts = [str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values]
        yield node.lineno, "".join(parts)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)
