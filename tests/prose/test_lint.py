"""The lint of the prose: what it finds, and that the clean paths stay clean."""

from __future__ import annotations

import pytest

from prose.lint import problems_of


def rules(source: str) -> list[str]:
    return [problem.rule for problem in problems_of(source, "x.py")]


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ('"""Of one cluster."""', "fragment"),
        ('"""The same in slices."""', "fragment"),
        ('def f():\n    """Whether it may have more."""', "fragment"),
        ("class C:\n    '''What a reader is sent next.'''", "fragment"),
        ('"""Return the client who asked."""', "person"),
        ("x = 1  # nobody waits for it", "person"),
        ("# a broker\n# that stands still\n", "phrase"),
        ('"""Return ' + "a b c d e f g h i j k l m n o p q r s t u v w x y." + '"""', "long"),
        ("# " + "a b c d e f g h i j k l m\n# n o p q r s t u v w x y z.\n", "long"),
    ],
)
def test_a_problem_is_found(source: str, rule: str) -> None:
    assert rules(source) == [rule]


@pytest.mark.parametrize(
    "source",
    [
        '"""Return True if a paused transport may have unread data."""',
        '"""A produce request that waits in the purgatory."""',
        '"""`who` is the name of a field, and "nobody" is a value of it."""',
        '"""Append records.\n\nSource   core/.../log/UnifiedLog.scala\nUnits    ' + "ms, " * 20 + '.\n"""',
        "x = 'Of a string that is no docstring, nobody is told'",
        "# type: ignore[import-untyped]\n",
        "x = 1  # a b c d e f g h i j k l m\ny = 2  # n o p q r s t u v w x y z\n",
        "x = 1  # a b c d e f g h i j k l m\n# n o p q r s t u v w x y z\n",
        '"""Run it.\n\n    python -m a b c d e f g h i j k l m\n    python -m n o p q r s t u v w x y z\n"""',
        '"""Return both:\n\n- ' + "a b c d e f g h i j k l m n o p\n- " * 2 + 'q r s t u v w x y z"""',
    ],
)
def test_good_prose_is_left_alone(source: str) -> None:
    assert rules(source) == []


def test_a_page_is_judged_without_code_links_and_tables() -> None:
    words = "a b c d e f g h i j k l m n o p q r s t u v w x y. "
    page = f"## Who leads\n\n```\nnobody {words}\n```\n| cell | {words} |\n\n[A broker](who.md) leads. {words}\n"
    places = [(problem.line, problem.rule) for problem in problems_of(page, "x.md")]
    assert places == [(1, "person"), (8, "long")]


def test_the_line_of_a_problem_is_told() -> None:
    (problem,) = problems_of('"""Return a thing.\n\nThe client\nwho asked gets it.\n"""\n', "x.py")
    assert str(problem) == "x.py:4: person: 'who': name the client, broker or request"
