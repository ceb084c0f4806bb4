"""A part of all cases: the same for the same code, all of them in the end, and what is new always."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from support import kept

from conformance.sample import code_digest, is_chosen, sample

CASES, GOLDEN = list(kept.cases()), list(kept.answers())


def test_about_one_in_so_many_and_the_same_again() -> None:
    chosen = sample(CASES, GOLDEN, 8, 1)
    assert len(CASES) / 12 < len(chosen) < len(CASES) / 3
    assert chosen == sample(CASES, GOLDEN, 8, 1)
    assert sample(CASES, GOLDEN, 1, 1) == list(CASES)


def test_other_code_asks_for_others() -> None:
    assert all(any(is_chosen(case, 8, salt) for salt in range(200)) for case in CASES)


def test_a_box_in_which_cases_feel_each_other_is_whole() -> None:
    one = next(case for case in CASES if case.box == "configs")
    salt = next(salt for salt in range(200) if is_chosen(one, 8, salt))
    chosen = sample(CASES, GOLDEN, 8, salt)
    assert [case for case in chosen if case.box == "configs"] == [case for case in CASES if case.box == "configs"]


def test_what_kafka_was_not_asked_is_always_there() -> None:
    left_out = next(case for case in CASES if not is_chosen(case, 8, 1))
    unknown = [golden for golden in GOLDEN if golden.case != left_out.name]
    stale = [replace(golden, digest="0" * 12) if golden.case == left_out.name else golden for golden in GOLDEN]
    assert left_out in sample(CASES, unknown, 8, 1)
    assert left_out in sample(CASES, stale, 8, 1)


def test_the_code_is_all_of_ours(tmp_path: Path) -> None:
    def changed(text: str) -> int:
        (tmp_path / "fakebroker").mkdir(exist_ok=True)
        (tmp_path / "fakebroker" / "module.py").write_text(text)
        return code_digest(tmp_path)

    assert changed("a = 1\n") == changed("a = 1\n") != changed("a = 2\n")
