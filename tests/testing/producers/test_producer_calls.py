"""The outcome of a call, by the events about it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakebroker.testing.producers.calls import Call, Outcome


def call(value: bytes | None = b"v") -> Call:
    return Call(3, "me", "t", value)


@pytest.mark.parametrize(
    ("tell", "outcome"),
    [
        (lambda each: None, Outcome.OPEN),
        (lambda each: each.ok(0, 5), Outcome.OK),
        (lambda each: each.refused("too large"), Outcome.FAILED),
        (lambda each: each.unknown(), Outcome.UNKNOWN),
        (lambda each: each.failed("NOT_ENOUGH_REPLICAS"), Outcome.FAILED),
        (lambda each: each.failed("NOT_ENOUGH_REPLICAS", tries=2), Outcome.UNKNOWN),
        (lambda each: each.failed("REQUEST_TIMED_OUT"), Outcome.UNKNOWN),
        (lambda each: each.failed(), Outcome.UNKNOWN),
    ],
)
def test_outcome(tell: Callable[[Call], None], outcome: Outcome) -> None:
    each = call()
    tell(each)
    assert each.outcome is outcome
    assert each.may_have_written == (outcome is not Outcome.FAILED)


def test_what_is_unknown_may_be_told_later() -> None:
    later, never = call(), call()
    later.unknown("timed out")
    later.ok(0, 7)
    assert (later.outcome, later.offset) == (Outcome.OK, 7)
    never.unknown("timed out")
    never.refused("purged")
    assert (never.outcome, never.error) == (Outcome.FAILED, "purged")


def test_what_is_certain_stays() -> None:
    each = call()
    each.ok(0, 7)
    each.ok(0, 7)
    each.unknown("late")
    assert each.outcome is Outcome.OK
    with pytest.raises(ValueError, match=r"call 3 of client 'me' \(t, b'v'\) is ok already, and cannot become failed"):
        each.refused()
    with pytest.raises(ValueError, match="cannot become ok"):
        each.ok(0, 8)


def test_a_long_value_is_shown_in_part() -> None:
    assert call(None).shown == "None"
    assert call(b"x" * 41).shown == repr(b"x" * 40) + "... (41 bytes)"
