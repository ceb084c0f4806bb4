"""Patterns as RE2J reads them."""

from __future__ import annotations

import pytest

from fakebroker.core.re2j import WORK_OF_A_SLICE, Pattern, PatternError
from fakebroker.core.transactions.id_pattern import IdPattern
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


def test_a_text_matches_as_a_whole() -> None:
    pattern = Pattern("a.")
    assert [text for text in ("a", "ab", "abc", "bab") if pattern.matches(text)] == ["ab"]


@pytest.mark.parametrize("pattern", ["(", "\\C", "{*", "(?P<n>a)(?<n>b)"])
def test_what_re2j_does_not_take_lists_no_transactions(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PatternError):
        Pattern(pattern)
    with pytest.raises(KafkaError, match="is no pattern") as refused:
        IdPattern(pattern)
    assert refused.value.code is ErrorCode.invalid_regular_expression
    assert capfd.readouterr() == ("", "")


def test_an_empty_pattern_lists_all() -> None:
    assert IdPattern("").matches("whatever")


@pytest.mark.parametrize("pattern", ["(.*){1000}" * 2, r"(\pL|\pN){100}", "x" * 20_000])
def test_a_pattern_that_becomes_a_large_program_is_refused(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PatternError, match="pattern too large"):
        Pattern(pattern)
    assert capfd.readouterr() == ("", "")


def test_a_hundred_names_of_topics_are_a_pattern() -> None:
    names = [f"{number * 7_919 % 10_007:05}-topic-of-{'x' * 80}" for number in range(100)]
    assert Pattern("|".join(names)).matches(names[50])


def test_a_name_of_a_topic_is_short_enough_for_every_pattern() -> None:
    pattern = Pattern("(.?){1000}")  # 11,004 instructions would be too many
    assert pattern.matches("x" * 249)


def test_a_text_that_takes_too_long_is_refused() -> None:
    pattern = Pattern("(.*){500}")
    with pytest.raises(PatternError, match="pattern too large for a text of 30000 characters"):
        pattern.matches("x" * 30_000)
    with pytest.raises(KafkaError, match="too large for a text") as refused:
        IdPattern("(.*){500}").matches("x" * 30_000)
    assert refused.value.code is ErrorCode.invalid_regular_expression


def test_the_work_is_that_of_a_simulation_of_all_states() -> None:
    few, many = Pattern("a.*"), Pattern("(.*){500}")
    assert few.work("x" * 249) < WORK_OF_A_SLICE / 10
    assert many.work("x" * 249) > WORK_OF_A_SLICE
