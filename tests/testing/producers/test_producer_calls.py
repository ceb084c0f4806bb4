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
        (lambda made: None, CallOutcome.OPEN),
        (lambda made: made.ok(0, 5), CallOutcome.OK),
        (lambda made: made.refused("too large"), CallOutcome.FAILED),
        (lambda made: made.unknown(), CallOutcome.UNKNOWN),
        (lambda made: made.failed("NOT_ENOUGH_REPLICAS"), CallOutcome.FAILED),
        (lambda made: made.failed("NOT_ENOUGH_REPLICAS", tries=2), CallOutcome.UNKNOWN),
        (lambda made: made.failed("REQUEST_TIMED_OUT"), CallOutcome.UNKNOWN),
        (lambda made: made.failed(), CallOutcome.UNKNOWN),
    ],
)
def test_outcome(tell: Callable[[ProducerCall], None], outcome: CallOutcome) -> None:
    producer_call = call()
    tell(producer_call)
    assert producer_call.outcome is outcome
    assert producer_call.may_have_written == (outcome is not CallOutcome.FAILED)


def test_what_is_unknown_may_be_told_later() -> None:
    later, never = call(), call()
    later.unknown("timed out")
    later.ok(0, 7)
    assert (later.outcome, later.offset) == (CallOutcome.OK, 7)
    never.unknown("timed out")
    never.refused("purged")
    assert (never.outcome, never.error) == (CallOutcome.FAILED, "purged")


def test_what_is_certain_stays() -> None:
    producer_call = call()
    producer_call.ok(0, 7)
    producer_call.ok(0, 7)
    producer_call.unknown("late")
    assert producer_call.outcome is CallOutcome.OK
    with pytest.raises(ValueError, match=r"call 3 of client 'me' \(t, b'v'\) is ok already, and cannot become failed"):
        producer_call.refused()
    with pytest.raises(ValueError, match="cannot become ok"):
        producer_call.ok(0, 8)


def test_a_long_value_is_shown_in_part() -> None:
    assert call(None).shown == "None"
    assert call(b"x" * 41).shown == repr(b"x" * 40) + "... (41 bytes)"
