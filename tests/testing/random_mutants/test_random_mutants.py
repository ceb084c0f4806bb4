"""Random mutants: what each operator makes, what is left out, and the draw."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from mutants.draw import ROOMS, candidates, draw, mutants_of, shares
from mutants.judgements import load_judgements, unjudged_entries
from mutants.operators import BOUNDARY, BRANCH, CALL, COMPARISON, CONSTANT, KINDS, LOGIC, SIGN


def made(source: str) -> set[tuple[str, str]]:
    """Return (kind, mutated source) of every mutant of a source."""
    data = source.encode()
    return {(mutant.edit.kind, mutant.applied(data).decode()) for mutant in mutants_of(data, "x.py")}


@pytest.mark.parametrize(
    ("source", "kind", "expected"),
    [
        ("x = a == b", COMPARISON, {"x = a != b"}),
        ("x = a < b", COMPARISON, {"x = a >= b"}),
        ("x = a is not b", COMPARISON, {"x = a is b"}),
        ("x = a not  in b", COMPARISON, {"x = a in b"}),
        ("x = not a", COMPARISON, {"x = a"}),
        ("x = not(a or b)", COMPARISON, {"x = (a or b)"}),
        ("x = (a) <= (b)", BOUNDARY, {"x = (a) < (b)"}),
        ("x = a < b >= c", BOUNDARY, {"x = a <= b >= c", "x = a < b > c"}),
        ("if a:\n    b()", BRANCH, {"if False:\n    b()", "if True:\n    b()"}),
        ("while a:\n    b()", BRANCH, {"while False:\n    b()"}),
        ("x = 1 if a else b", BRANCH, {"x = 1 if False else b", "x = 1 if True else b"}),
        ("if (a := b):\n    pass", BRANCH, set()),
        ("x = 7", CONSTANT, {"x = 8"}),
        ("x = 0xFF", CONSTANT, {"x = 0x100"}),
        ("x = 0.5", CONSTANT, {"x = 1.5"}),
        ("x = True", CONSTANT, {"x = False"}),
        ("x = 'text'", CONSTANT, set()),
        ("def f():\n    a.b(1)\n    c()", CALL, {"def f():\n    pass\n    c()", "def f():\n    a.b(1)\n    pass"}),
        ("x = a and b and (c)", LOGIC, {"x = a or b or (c)"}),
        ("x = (a or\n     b)", LOGIC, {"x = (a and\n     b)"}),
        ("x = a + b", SIGN, {"x = a - b"}),
        ("x -= a", SIGN, {"x += a"}),
        ("x = 'a' + b", SIGN, set()),
        ("x = 'ö' == a", COMPARISON, {"x = 'ö' != a"}),
    ],
)
def test_an_operator_changes_its_token_only(source: str, kind: str, expected: set[str]) -> None:
    assert {text for made_kind, text in made(source) if made_kind == kind} == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Docstring 1."""',
        "x: Literal[1]",
        "def f(x: Literal[1]) -> Literal[2]: ...",
        "X: TypeAlias = Literal[1]",
        "__slots__ = (1,)",
        "__all__ = [1]",
        "T = TypeVar('T', covariant=True)",
        "assert x == 1",
        "if TYPE_CHECKING:\n    x = 1",
        "if __debug__:\n    x = 1",
        "raise ValueError(f'{x + 1} < 2')",
        "logger.info('%d', 1)",
        "class A:\n    def __repr__(self):\n        return a + 1",
        "class A:\n    def check_invariants(self):\n        if a:\n            fail()",
        "@dataclass(frozen=True)\nclass A: ...",
        "x = zip(a, b, strict=True)",
        "while True:\n    break",
        "match x:\n    case 1:\n        pass",
    ],
)
def test_what_is_not_mutated(source: str) -> None:
    assert made(source) == set()


def test_the_log_of_a_partition_is_not_a_logger() -> None:
    assert (CALL, "def f():\n    pass") in made("def f():\n    self.log.append(1)")


def test_the_branch_beside_a_type_checking_block_is_mutated() -> None:
    assert made("if TYPE_CHECKING:\n    x = 1\nelse:\n    x = 2") == {
        (CONSTANT, "if TYPE_CHECKING:\n    x = 1\nelse:\n    x = 3")
    }


def test_every_mutant_of_a_room_compiles_and_leaves_the_rest_as_it_is() -> None:
    for mutant in candidates("timingwheel")[::4]:
        data = (Path(__file__).parents[3] / mutant.path).read_bytes()
        text = mutant.applied(data)
        ast.parse(text)
        assert text[: mutant.edit.start] == data[: mutant.edit.start]
        rest = len(data) - mutant.edit.end
        assert text[len(text) - rest :] == data[mutant.edit.end :]
        assert text != data


def test_all_kinds_are_made_in_a_room() -> None:
    assert {mutant.edit.kind for mutant in candidates("timingwheel")} == set(KINDS)


def test_the_same_seed_draws_the_same() -> None:
    first, again, other = (draw(20, seed, ["timingwheel", "network"]) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert len(first) == len(set(first)) == 20
    assert {mutant.room for mutant in first} == {"timingwheel", "network"}


def test_more_cannot_be_drawn_than_there_are() -> None:
    assert len(draw(100_000, 1, ["timingwheel"])) == len(candidates("timingwheel"))


def test_shares_add_up_and_favour_small_rooms() -> None:
    given = shares(200, {"large": 10_000, "small": 100, "empty": 0})
    assert given == {"large": 182, "small": 18, "empty": 0}
    assert sum(shares(7, {"a": 3, "b": 5, "c": 9}).values()) == 7


def test_the_rooms_are_there() -> None:
    root = Path(__file__).parents[3]
    assert all((root / folder).is_dir() for folder in ROOMS.values())


def test_an_identity_survives_a_shift_of_lines() -> None:
    before, after = (list(mutants_of(s.encode(), "x.py")) for s in ("def f():\n    g()", "\n\n\ndef f():\n    g()"))
    assert [m.identity for m in before] == [m.identity for m in after]
    assert [m.line for m in before] == [2]
    assert [m.line for m in after] == [5]
    assert before[0].identity.within == "f"


def test_judgements_are_read_back_as_they_are_proposed(tmp_path: Path) -> None:
    mutant = next(mutants_of(b"def f():\n    x = (1 +\n     y['a'])", "x.py"))
    file = tmp_path / "survivors.toml"
    file.write_text(unjudged_entries([mutant.identity]).replace('missing = ""', 'equivalent = "y is 0"'))
    assert load_judgements(file)[mutant.identity] == ("equivalent", "y is 0")


@pytest.mark.parametrize("verdict", ["", 'missing = "a"\nequivalent = "b"'])
def test_a_judgement_has_one_verdict(tmp_path: Path, verdict: str) -> None:
    file = tmp_path / "survivors.toml"
    file.write_text(f'[[survivor]]\npath = "x.py"\nwithin = "f"\nold = "a"\nnew = "b"\n{verdict}\n')
    with pytest.raises(ValueError, match="needs one of"):
        load_judgements(file)


def test_each_judgement_fits_the_code() -> None:
    """A judged mutant can still be drawn; otherwise its entry in survivors.toml is to be removed."""
    for identity in load_judgements():
        data = (Path(__file__).parents[3] / identity.path).read_bytes()
        assert identity in {mutant.identity for mutant in mutants_of(data, identity.path)}, identity
