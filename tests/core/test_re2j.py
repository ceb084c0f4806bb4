"""Patterns as RE2J reads them."""

from __future__ import annotations

import pytest

from fakebroker.core.re2j import PatternError, whole_match
from fakebroker.core.transactions.id_pattern import id_pattern
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


def test_a_text_matches_as_a_whole() -> None:
    matches = whole_match("a.")
    assert [text for text in ("a", "ab", "abc", "bab") if matches(text)] == ["ab"]


@pytest.mark.parametrize("pattern", ["(", "\\C", "{*", "(?P<n>a)(?<n>b)"])
def test_what_re2j_does_not_take_lists_no_transactions(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PatternError):
        whole_match(pattern)
    with pytest.raises(KafkaError, match="is no pattern") as refused:
        id_pattern(pattern)
    assert refused.value.code is ErrorCode.invalid_regular_expression
    assert capfd.readouterr() == ("", "")


def test_an_empty_pattern_lists_all() -> None:
    assert id_pattern("")("whatever")
