"""The three clocks, with an operating system's clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.clock import Now
from fakebroker.server import system_clock
from fakebroker.server.clocks import CLOCK_NAMES, AutoClock, Clock, ManualClock, RealClock, check_name, new_clock

NS_PER_MS = 1_000_000
START_MONO_NS = 7_000 * NS_PER_MS + 300_000
START_WALL_NS = 1_800_000_000_000 * NS_PER_MS + 900_000


class System:
    """The clocks of the operating system."""

    def __init__(self) -> None:
        self.passed_ns = 0

    def pass_ms(self, ms: float) -> None:
        self.passed_ns += round(ms * NS_PER_MS)


@pytest.fixture
def system() -> Iterator[System]:
    with patched() as clocks:
        yield clocks


class patched:
    def __enter__(self) -> System:
        self._patch = pytest.MonkeyPatch()
        clocks = System()
        self._patch.setattr(system_clock, "monotonic_ns", lambda: START_MONO_NS + clocks.passed_ns)
        self._patch.setattr(system_clock, "time_ns", lambda: START_WALL_NS + clocks.passed_ns)
        return clocks

    def __exit__(self, *exc_info: object) -> None:
        self._patch.undo()


@pytest.mark.parametrize(("name", "kind"), [("real", RealClock), ("manual", ManualClock), ("auto", AutoClock)])
def test_a_clock_has_a_name(name: str, kind: type[Clock]) -> None:
    check_name(name)

    assert name in CLOCK_NAMES
    assert type(new_clock(name)) is kind


@pytest.mark.parametrize("name", ["", "Manual", "virtual", None, 5, []])
def test_another_name_is_refused(name: object) -> None:
    with pytest.raises(ValueError, match=r"^a clock is real, manual or auto, not "):
        check_name(name)


def test_the_real_clock_is_the_systems(system: System) -> None:
    clock = RealClock()
    system.pass_ms(5)

    assert (clock.stamp(), clock.reached()) == (system_clock.stamp(), system_clock.reached())
    assert clock.seconds_until(7_010) == system_clock.seconds_until(7_010)
    assert not clock.can_move


def test_a_manual_clock_does_not_move_by_itself(system: System) -> None:
    clock = ManualClock()
    system.pass_ms(1_000_000)

    assert clock.stamp() == clock.reached() == Now(0, START_WALL_NS // NS_PER_MS)
    assert clock.seconds_until(0) == clock.seconds_until(-5) == 0
    assert clock.seconds_until(1) == inf


def test_a_manual_clock_takes_wall_time_along(system: System) -> None:
    clock = ManualClock()
    clock.move_to(30_000)

    assert clock.stamp() == clock.reached() == Now(30_000, START_WALL_NS // NS_PER_MS + 30_000)
    assert (clock.seconds_until(30_000), clock.seconds_until(30_001)) == (0, inf)


@pytest.mark.parametrize("kind", [ManualClock, AutoClock])
def test_no_clock_goes_back(system: System, kind: type[Clock]) -> None:
    clock = kind()
    clock.move_to(clock.reached().mono_ms + 500)
    before = clock.reached()
    clock.move_to(before.mono_ms - 400)

    assert clock.reached() == before


def test_an_auto_clock_goes_on_its_own(system: System) -> None:
    clock = AutoClock()
    before = clock.reached()
    system.pass_ms(250)

    assert clock.reached() == Now(before.mono_ms + 250, before.wall_ms + 250)


def test_an_auto_clock_is_ahead_by_what_it_was_moved(system: System) -> None:
    clock = AutoClock()
    start = clock.reached()
    clock.move_to(start.mono_ms + 30_000)
    system.pass_ms(5)

    assert clock.reached() == Now(start.mono_ms + 30_005, start.wall_ms + 30_005)
    assert clock.stamp().mono_ms - clock.reached().mono_ms == 1  # rounded up and down, as the system's


def test_a_skip_moves_monotonic_time_alone(system: System) -> None:
    clock = AutoClock()
    start = clock.reached()
    clock.move_to(start.mono_ms + 1_000)
    system.pass_ms(5)
    skipped_ms = clock.skip_to(start.mono_ms + 31_005)

    assert skipped_ms == 30_000
    assert clock.reached() == Now(start.mono_ms + 31_005, start.wall_ms + 1_005)
    assert 0 < clock.seconds_until(start.mono_ms + 31_006) <= 0.001


def test_to_skip_to_where_an_auto_clock_has_come_is_nothing(system: System) -> None:
    clock = AutoClock()
    before = clock.reached()

    assert clock.skip_to(before.mono_ms - 1) == 0
    assert clock.reached() == before


def test_to_move_an_auto_clock_to_where_it_has_come_is_nothing(system: System) -> None:
    clock = AutoClock()
    target_ms = clock.reached().mono_ms + 20
    system.pass_ms(50)
    clock.move_to(target_ms)

    assert clock.reached() == system_clock.reached()


@given(
    moved_ms=st.integers(0, 2**40),
    skipped_ms=st.integers(0, 2**40),
    passed_ns=st.integers(0, 10**10),
    ahead_ms=st.integers(-10, 10_000),
)
def test_an_auto_clock_is_reached_when_its_seconds_are_over(
    moved_ms: int, skipped_ms: int, passed_ns: int, ahead_ms: int
) -> None:
    with patched() as system:
        clock = AutoClock()
        clock.move_to(clock.reached().mono_ms + moved_ms)
        clock.skip_to(clock.reached().mono_ms + skipped_ms)
        system.passed_ns = passed_ns
        deadline_ms = clock.reached().mono_ms + ahead_ms
        left_s = clock.seconds_until(deadline_ms)

        assert (left_s == 0) == (ahead_ms <= 0)
        system.passed_ns += round(left_s * 1e9)
        assert clock.reached().mono_ms >= deadline_ms
