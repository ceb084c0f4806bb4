"""Java's hash of a string; the expected numbers are what jshell says."""

from __future__ import annotations

import pytest

from fakebroker.protocol.java_hash import java_hash


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("group", 98629247),
        ("my-group", -1906497762),
        ("\u00e9", 233),
        ("\U0001f600", 1772899),
        ("polygenelubricants", 0),  # the smallest int; its absolute value is 0 to Kafka
    ],
)
def test_it_is_that_of_java(text: str, expected: int) -> None:
    assert java_hash(text) == expected
