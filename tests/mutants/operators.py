"""The slips that random mutants make: each is an edit of the source text at the position of a node.

Positions are of bytes, as `ast` counts them, so whatever else the file holds stays as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

FLIPPED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
MOVED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
SIGNS: dict[type[ast.operator], tuple[str, str]] = {ast.Add: (r"\+", "-"), ast.Sub: ("-", "+")}
KINDS = (
    "comparison flipped",
    "boundary moved",
    "branch dropped",
    "constant changed",
    "call removed",
    "and for or",
    "sign changed",
)
(COMPARISON, BOUNDARY, BRANCH, CONSTANT, CALL, LOGIC, SIGN) = KINDS


class Edit(NamedTuple):
    """Bytes `start` to `end` of the file become `new`."""

    kind: str
    start: int
    end: int
    new: bytes


class Source:
    """The bytes of a file, and where its lines begin."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._starts = [0]
        for line in data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def line(self, offset: int) -> int:
        """Return the line, from 1, of a byte."""
        return self.data.count(b"\n", 0, offset) + 1

    def token(self, pattern: str, start: int, end: int) -> tuple[int, int] | None:
        """Return where an operator stands between two operands; None if a comment is there too."""
        gap = self.data[start:end]
        match = re.search(pattern.encode(), gap)
        return None if b"#" in gap or match is None else (start + match.start(), start + match.end())


def edits(node: ast.AST, source: Source) -> Iterator[Edit]:
    """Yield the slips that can be made at a node."""
    if isinstance(node, ast.Compare):
        yield from _comparisons(node, source)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        place = source.token(r"not\b\s*", source.start(node), source.start(node.operand))
        if place is not None:
            yield Edit(COMPARISON, *place, b"")
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield from _branches(node.test, isinstance(node, ast.While), source)
    elif isinstance(node, ast.Constant):
        yield from _constants(node, source)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield Edit(CALL, source.start(node), source.end(node), b"pass")
    elif isinstance(node, ast.BoolOp):
        yield from _logic(node, source)
    elif isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        if not _is_text(node.left) and not _is_text(node.right):
            pattern, new = SIGNS[type(node.op)]
            place = source.token(pattern, source.end(node.left), source.start(node.right))
            if place is not None:
                yield Edit(SIGN, *place, new.encode())
    elif isinstance(node, ast.AugAssign) and type(node.op) in SIGNS and not _is_text(node.value):
        pattern, new = SIGNS[type(node.op)]
        place = source.token(pattern, source.end(node.target), source.start(node.value))
        if place is not None:
            yield Edit(SIGN, *place, new.encode())


def _comparisons(node: ast.Compare, source: Source) -> Iterator[Edit]:
    operands = [node.left, *node.comparators]
    for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
        pattern, flipped = FLIPPED[type(op)]
        place = source.token(pattern, source.end(left), source.start(right))
        if place is None:
            continue
        yield Edit(COMPARISON, *place, flipped.encode())
        if pattern in MOVED:
            yield Edit(BOUNDARY, *place, MOVED[pattern].encode())


def _branches(test: ast.expr, is_loop: bool, source: Source) -> Iterator[Edit]:
    has_name = any(isinstance(node_, ast.NamedExpr) for node_ in ast.walk(test))
    if has_name or isinstance(test, ast.Constant):
        return
    for forced in (b"False",) if is_loop else (b"False", b"True"):
        yield Edit(BRANCH, source.start(test), source.end(test), forced)


def _constants(node: ast.Constant, source: Source) -> Iterator[Edit]:
    start, end = source.start(node), source.end(node)
    if isinstance(node.value, bool):
        yield Edit(CONSTANT, start, end, str(not node.value).encode())
    elif isinstance(node.value, int):
        is_hex = source.data[start : start + 2].lower() == b"0x"
        yield Edit(CONSTANT, start, end, (hex if is_hex else str)(node.value + 1).encode())
    elif isinstance(node.value, float):
        yield Edit(CONSTANT, start, end, repr(node.value + 1).encode())


def _logic(node: ast.BoolOp, source: Source) -> Iterator[Edit]:
    old, new = ("and", b"or") if isinstance(node.op, ast.And) else ("or", b"and")
    text, at = b"", source.start(node.values[0])
    start = at
    for left, right in zip(node.values, node.values[1:], strict=False):
        place = source.token(rf"\b{old}\b", source.end(left), source.start(right))
        if place is None:
            return
        text += source.data[at : place[0]] + new
        at = place[1]
    end = source.end(node.values[-1])
    yield Edit(LOGIC, start, end, text + source.data[at:end])


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
