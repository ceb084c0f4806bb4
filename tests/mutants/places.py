"""The nodes of a module that a random mutant may change.

Left out are:

- docstrings, annotations, type aliases, `__slots__` and the like
- arguments of log calls, f-strings (error messages are), asserts
- TYPE_CHECKING and `__debug__` blocks, `__repr__`, `__str__` and `check_invariants`
- overloads, patterns of `match`, decorators of classes
- keywords that only guard against slips (`strict`, `slots`, `frozen`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

NOT_MUTATED_METHODS = {"__repr__", "__str__", "check_invariants"}
NOT_MUTATED_NAMES = {"__slots__", "__all__", "__match_args__", "__mypyc_attrs__"}
NOT_MUTATED_CONDITIONS = {"TYPE_CHECKING", "__debug__", "__name__"}
NOT_MUTATED_KEYWORDS = {"strict", "slots", "frozen", "kw_only", "maxsize"}
NOT_MUTATED_CALLS = {"TypeVar", "ParamSpec", "NewType", "NamedTuple", "cast", "mypyc_attr", "lru_cache", "warn"}
LOGGERS = {"logger", "logging", "warnings"}


@dataclass(frozen=True)
class Scope:
    """The place of a node. `first` and `last` are the lines of its statement, or of the header of a compound one.

    `is_deferred`: it runs when its function is called. Else it runs at import, and shows wherever `names` are used; if
    it is a default or a decorator, in the lines `body` of its function too.
    """

    within: str = ""
    first: int = 0
    last: int = 0
    is_deferred: bool = False
    names: tuple[str, ...] = ()
    body: tuple[int, int] | None = None

    def at(self, node: ast.AST) -> Scope:
        return replace(self, first=node.lineno, last=node.end_lineno)  # type: ignore[attr-defined]

    def inside(self, name: str) -> str:
        return f"{self.within}.{name}" if self.within else name


Place = tuple[ast.AST, Scope]


def places(tree: ast.Module) -> Iterator[Place]:
    """Yield each node that may be changed, with its scope, in the order of the text (roughly)."""
    for statement in tree.body:
        yield from _statement(statement, Scope())


def _statements(body: list[ast.stmt], scope: Scope) -> Iterator[Place]:
    for statement in body:
        yield from _statement(statement, scope)


def _statement(node: ast.stmt, scope: Scope) -> Iterator[Place]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _function(node, scope)
    elif isinstance(node, ast.ClassDef):
        yield from _statements(node.body, replace(scope, within=scope.inside(node.name)))
    elif isinstance(node, ast.If):
        if not _names(node.test) & NOT_MUTATED_CONDITIONS:
            yield node, scope.at(node.test)
            yield from _expression(node.test, scope.at(node.test))
            yield from _statements(node.body, scope)
        yield from _statements(node.orelse, scope)
    elif isinstance(node, ast.AnnAssign):
        if not (_names(node.annotation) & {"TypeAlias"}) and node.value is not None:
            yield from _assigned([node.target], node.value, scope.at(node))
    elif isinstance(node, ast.Assign):
        yield from _assigned(node.targets, node.value, scope.at(node))
    elif isinstance(node, ast.Assert | ast.Import | ast.ImportFrom) or type(node).__name__ == "TypeAlias":
        return
    elif isinstance(node, ast.Match):
        yield from _expression(node.subject, scope.at(node.subject))
        for case in node.cases:
            if case.guard is not None:
                yield from _expression(case.guard, scope.at(case.guard))
            yield from _statements(case.body, scope)
    else:
        yield from _other_statement(node, scope)


def _other_statement(node: ast.stmt, scope: Scope) -> Iterator[Place]:
    """Yield the places of a statement of any other kind: all of its own expressions, and those of its blocks."""
    blocks = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    is_log = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_excluded_call(node.value)
    if is_log:
        return
    if isinstance(node, ast.While):
        yield node, scope.at(node.test)
    elif not blocks and not isinstance(node, ast.Try):
        yield node, scope.at(node)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield from _statement(child, scope)
        elif isinstance(child, ast.ExceptHandler):
            yield from _statements(child.body, scope)
        elif isinstance(child, ast.withitem):
            yield from _expression(child.context_expr, scope.at(child.context_expr))
        elif isinstance(child, ast.expr) and not (isinstance(node, ast.While) and isinstance(child, ast.Constant)):
            yield from _expression(child, scope.at(child if blocks else node))


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> Iterator[Place]:
    decorators = [decorator for decorator in node.decorator_list if not _called(decorator) & NOT_MUTATED_CALLS]
    if node.name in NOT_MUTATED_METHODS or any("overload" in _names(decorator) for decorator in node.decorator_list):
        return
    header = replace(
        scope,
        names=(node.name,),
        body=(node.body[0].lineno, node.body[-1].end_lineno or 0),
        within=scope.inside(node.name),
    )
    for default in [*node.args.defaults, *node.args.kw_defaults, *decorators]:
        if default is not None:
            yield from _expression(default, header.at(default))
    yield from _statements(node.body, Scope(within=header.within, is_deferred=True))


def _assigned(targets: list[ast.expr], value: ast.expr, scope: Scope) -> Iterator[Place]:
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    if names & NOT_MUTATED_NAMES:
        return
    if not scope.is_deferred:
        scope = replace(scope, names=tuple(sorted(names)))
    for expression in [*targets, value]:
        yield from _expression(expression, scope)


def _expression(node: ast.AST, scope: Scope) -> Iterator[Place]:
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and _is_excluded_call(node)):
        return
    if isinstance(node, ast.keyword) and node.arg in NOT_MUTATED_KEYWORDS:
        return
    if isinstance(node, ast.expr):
        yield node, scope
    if isinstance(node, ast.Lambda):
        scope = replace(scope.at(node.body), is_deferred=True)
    for child in ast.iter_child_nodes(node):
        yield from _expression(child, scope)


def _is_excluded_call(call: ast.Call) -> bool:
    if _called(call) & NOT_MUTATED_CALLS:
        return True
    return isinstance(call.func, ast.Attribute) and any(
        name.strip("_").lower() in LOGGERS for name in _names(call.func.value)
    )


def _called(node: ast.AST) -> set[str]:
    """The name of the function that a call calls, in a set; empty for anything else."""
    if not isinstance(node, ast.Call):
        return set()
    return {node.func.attr} if isinstance(node.func, ast.Attribute) else _names(node.func)


def _names(node: ast.AST) -> set[str]:
    """All names and attributes within an expression."""
    names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    return names | {attribute.attr for attribute in ast.walk(node) if isinstance(attribute, ast.Attribute)}
