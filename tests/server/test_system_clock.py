"""Rounding: events are stamped late, and reached time is rounded down, so a timeout never ends early."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.clock import Now
from fakebroker.server import system_clock
from fakebroker.server.system_clock import reached, seconds_until, stamp

NS_PER_MS = 1_000_000

moments_ns = st.integers(0, 2**63) | st.integers(0, 5 * NS_PER_MS)


class Clocks:
    """The operating system's clocks, which the test moves."""

    def __init__(self) -> None:
        self.mono_ns = 0
        self.wall_ns = 0


@pytest.fixture(scope="module")
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture(scope="module", autouse=True)
def in_place_of_the_real_ones(clocks: Clocks) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(system_clock, "monotonic_ns", lambda: clocks.mono_ns)
        patch.setattr(system_clock, "time_ns", lambda: clocks.wall_ns)
        yield


@given(at_ns=moments_ns)
def test_a_stamp_is_the_first_millisecond_that_is_not_before_it(clocks: Clocks, at_ns: int) -> None:
    clocks.mono_ns = at_ns

    assert 0 <= stamp().mono_ms * NS_PER_MS - at_ns < NS_PER_MS


@given(at_ns=moments_ns)
def test_what_is_reached_is_the_last_millisecond_that_is_not_after_it(clocks: Clocks, at_ns: int) -> None:
    clocks.mono_ns = at_ns

    assert 0 <= at_ns - reached().mono_ms * NS_PER_MS < NS_PER_MS


@given(start_ns=moments_ns, timeout_ms=st.integers(0, 2**31), later_ns=moments_ns)
def test_a_timeout_that_is_over_has_lasted_its_time(
    clocks: Clocks, start_ns: int, timeout_ms: int, later_ns: int
) -> None:
    clocks.mono_ns = start_ns
    deadline_ms = stamp().mono_ms + timeout_ms
    clocks.mono_ns = start_ns + later_ns

    if reached().mono_ms >= deadline_ms:
        assert later_ns >= timeout_ms * NS_PER_MS


@given(start_ns=moments_ns, timeout_ms=st.integers(0, 2**31))
def test_a_timeout_is_over_at_most_a_millisecond_late(clocks: Clocks, start_ns: int, timeout_ms: int) -> None:
    clocks.mono_ns = start_ns
    deadline_ms = stamp().mono_ms + timeout_ms
    clocks.mono_ns = start_ns + (timeout_ms + 1) * NS_PER_MS

    assert reached().mono_ms >= deadline_ms


@given(at_ns=moments_ns, ahead_ms=st.integers(-5, 2**31))
def test_no_seconds_are_left_exactly_when_the_time_is_reached(clocks: Clocks, at_ns: int, ahead_ms: int) -> None:
    clocks.mono_ns = at_ns
    deadline_ms = at_ns // NS_PER_MS + ahead_ms

    assert (seconds_until(deadline_ms) == 0) == (reached().mono_ms >= deadline_ms)


@given(at_ns=st.integers(0, 2**53), ahead_ms=st.integers(0, 2**31))
def test_the_seconds_left_end_when_the_time_is_reached(clocks: Clocks, at_ns: int, ahead_ms: int) -> None:
    clocks.mono_ns = at_ns
    deadline_ms = at_ns // NS_PER_MS + ahead_ms
    left_ns = round(seconds_until(deadline_ms) * 1e9)

    assert left_ns == max(deadline_ms * NS_PER_MS - at_ns, 0)


@given(mono_ns=moments_ns, wall_ns=moments_ns)
def test_both_carry_the_wall_clock_rounded_down(clocks: Clocks, mono_ns: int, wall_ns: int) -> None:
    clocks.mono_ns, clocks.wall_ns = mono_ns, wall_ns

    assert stamp().wall_ms == reached().wall_ms == wall_ns // NS_PER_MS


@pytest.mark.parametrize("read", [stamp, reached])
def test_a_delay_between_the_two_clocks_makes_both_be_read_again(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[], Now]
) -> None:
    true_ns, held_up_ns = 5 * NS_PER_MS, [7 * NS_PER_MS, 0, 0]

    def wall_ns() -> int:
        nonlocal true_ns
        true_ns += held_up_ns.pop(0)
        return true_ns + 1_000 * NS_PER_MS

    monkeypatch.setattr(system_clock, "monotonic_ns", lambda: true_ns)
    monkeypatch.setattr(system_clock, "time_ns", wall_ns)

    assert read() == Now(12, 1_012)


def test_with_a_delay_at_each_read_the_last_pair_of_times_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    true_ns = 0

    def wall_ns() -> int:
        nonlocal true_ns
        true_ns += NS_PER_MS
        return true_ns

    monkeypatch.setattr(system_clock, "monotonic_ns", lambda: true_ns)
    monkeypatch.setattr(system_clock, "time_ns", wall_ns)

    now = reached()
    assert now.wall_ms - now.mono_ms == 1
