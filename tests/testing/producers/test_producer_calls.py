"""The outcome of a call, by the events about it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakebroker.testing.producers.calls import CallOutcome, ProducerCall


def call(value: bytes | None = b"v") -> ProducerCall:
    return ProducerCall(3, "me", "t", value)


@pytest.mark.parametrize(
    ("tell", "outcome"),
    [
        (lambda each: None, CallOutcome.OPEN),
        (lambda each: each.ok(0, 5), CallOutcome.OK),
        (lambda each: each.refused("too large"), CallOutcome.FAILED),
        (lambda each: each.unknown(), CallOutcome.UNKNOWN),
        (lambda each: each.failed("NOT_ENOUGH_REPLICAS"), CallOutcome.FAILED),
        (lambda each: each.failed("NOT_ENOUGH_REPLICAS", tries=2), CallOutcome.UNKNOWN),
        (lambda each: each.failed("REQUEST_TIMED_OUT"), CallOutcome.UNKNOWN),
        (lambda each: each.failed(), CallOutcome.UNKNOWN),
    ],
)
def test_outcome(tell: Callable[[ProducerCall], None], outcome: CallOutcome) -> None:
    each = call()
    tell(each)
    assert each.outcome is outcome
    assert each.may_have_written == (outcome is not CallOutcome.FAILED)


def test_what_is_unknown_may_be_told_later() -> None:
    later, never = call(), call()
    later.unknown("timed out")
    later.ok(0, 7)
    assert (later.outcome, later.offset) == (CallOutcome.OK, 7)
    never.unknown("timed out")
    never.refused("purged")
    assert (never.outcome, never.error) == (CallOutcome.FAILED, "purged")


def test_what_is_certain_stays() -> None:
    each = call()
    each.ok(0, 7)
    each.ok(0, 7)
    each.unknown("late")
    assert each.outcome is CallOutcome.OK
    with pytest.raises(ValueError, match=r"call 3 of client 'me' \(t, b'v'\) is ok already, and cannot become failed"):
        each.refused()
    with pytest.raises(ValueError, match="cannot become ok"):
        each.ok(0, 8)


def test_a_long_value_is_shown_in_part() -> None:
    assert call(None).shown == "None"
    assert call(b"x" * 41).shown == repr(b"x" * 40) + "... (41 bytes)"
