"""One timer of the loop for all deadlines of the core, with a loop and a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.watchdog import within

from fakebroker.server import system_clock
from fakebroker.server.clocks import ManualClock, RealClock
from fakebroker.server.loops import new_event_loop
from fakebroker.server.timer_driver import TimerDriver

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000


class FakeHandle:
    def __init__(self, when_ns: int, callback: Callable[[], None]) -> None:
        self.when_ns = when_ns
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class FakeLoop:
    """A loop in which the test moves time. `rounds_by_ns` is how much too early its timers fire, like those of real
    loops."""

    def __init__(self, rounds_by_ns: int = 0) -> None:
        self.now_ns = 0
        self.handles: list[FakeHandle] = []
        self._rounds_by_ns = rounds_by_ns

    def time(self) -> float:
        return self.now_ns / NS_PER_S

    def call_at(self, when: float, callback: Callable[[], None]) -> FakeHandle:
        handle = FakeHandle(round(when * NS_PER_S), callback)
        self.handles.append(handle)
        return handle

    @property
    def waiting(self) -> list[FakeHandle]:
        return [handle for handle in self.handles if not handle.cancelled]

    def run_until(self, ms: int) -> None:
        """Fire what is due, each at its time; a timer that rounds down fires a little before."""
        for _ in range(10_000):
            due = [handle for handle in self.waiting if handle.when_ns - self._rounds_by_ns <= ms * NS_PER_MS]
            if not due:
                self.now_ns = ms * NS_PER_MS
                return
            first = min(due, key=lambda handle: handle.when_ns)
            self.handles.remove(first)
            # Each turn of a loop takes a while.
            self.now_ns = max(first.when_ns - self._rounds_by_ns, self.now_ns + 1000)
            first.callback()
        raise AssertionError("the driver re-arms for ever")


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> FakeLoop:
    return patched(monkeypatch, FakeLoop())


def patched(patch: pytest.MonkeyPatch, loop: FakeLoop) -> FakeLoop:
    patch.setattr(system_clock, "monotonic_ns", lambda: loop.now_ns)
    return loop


class Woken:
    """A recorder of wake-ups of the core."""

    def __init__(self, loop: FakeLoop) -> None:
        self._loop = loop
        self.at_ns: list[int] = []
        self.driver = TimerDriver(loop, self, RealClock())  # type: ignore[arg-type]

    def __call__(self) -> None:
        self.at_ns.append(self._loop.now_ns)

    @property
    def at_ms(self) -> list[float]:
        return [at_ns / NS_PER_MS for at_ns in self.at_ns]


@pytest.fixture
def woken(loop: FakeLoop) -> Woken:
    return Woken(loop)


def test_nothing_is_armed_without_a_deadline(loop: FakeLoop, woken: Woken) -> None:
    woken.driver.arm(None)

    assert loop.waiting == []


def test_it_wakes_at_its_deadline(loop: FakeLoop, woken: Woken) -> None:
    woken.driver.arm(10)
    loop.run_until(50)

    assert woken.at_ms == [10]


def test_it_wakes_once(loop: FakeLoop, woken: Woken) -> None:
    woken.driver.arm(10)
    loop.run_until(50)
    loop.run_until(1000)

    assert len(woken.at_ms) == 1


def test_it_does_not_wake_before(loop: FakeLoop, woken: Woken) -> None:
    woken.driver.arm(10)
    loop.run_until(9)

    assert woken.at_ms == []


def test_a_deadline_in_the_past_wakes_in_the_next_turn(loop: FakeLoop, woken: Woken) -> None:
    loop.run_until(100)
    woken.driver.arm(10)
    woken_inside = list(woken.at_ms)
    loop.run_until(100)

    assert (woken_inside, len(woken.at_ms)) == ([], 1)


def test_a_deadline_that_does_not_come_by_itself_arms_nothing(loop: FakeLoop) -> None:
    clock = ManualClock()
    driver = TimerDriver(loop, lambda: None, clock)  # type: ignore[arg-type]
    driver.arm(10)
    before = list(loop.waiting)
    clock.move_to(10)
    driver.arm(10)

    assert before == []
    assert len(loop.waiting) == 1


def test_an_earlier_deadline_takes_the_place_of_a_later_one(loop: FakeLoop, woken: Woken) -> None:
    woken.driver.arm(30)
    woken.driver.arm(10)

    assert [handle.when_ns for handle in loop.waiting] == [10 * NS_PER_MS]


@pytest.mark.parametrize("deadline_ms", [10, 11, 30, None])
def test_a_deadline_that_is_not_earlier_leaves_the_timer_alone(
    loop: FakeLoop, woken: Woken, deadline_ms: int | None
) -> None:
    woken.driver.arm(10)
    armed = list(loop.handles)
    woken.driver.arm(deadline_ms)

    assert loop.handles == armed
    assert not armed[0].cancelled


def test_waking_may_arm_the_next(loop: FakeLoop) -> None:
    at_ms: list[float] = []

    def wake() -> None:
        at_ms.append(loop.now_ns / NS_PER_MS)
        if len(at_ms) < 3:
            driver.arm(10 * (len(at_ms) + 1))

    driver = TimerDriver(loop, wake, RealClock())  # type: ignore[arg-type]
    driver.arm(10)
    loop.run_until(100)

    assert at_ms == [10, 20, 30]


def test_it_can_be_armed_again_after_it_woke(loop: FakeLoop, woken: Woken) -> None:
    woken.driver.arm(10)
    loop.run_until(15)
    woken.driver.arm(20)
    loop.run_until(50)

    assert woken.at_ms == [10, 20]


def test_stop_takes_the_timer_back(loop: FakeLoop, woken: Woken) -> None:
    woken.driver.arm(10)
    woken.driver.stop()
    loop.run_until(50)

    assert woken.at_ms == []


def test_stop_of_a_driver_that_is_not_armed_is_nothing(woken: Woken) -> None:
    woken.driver.stop()


def test_it_can_be_armed_again_after_it_was_stopped(loop: FakeLoop, woken: Woken) -> None:
    woken.driver.arm(10)
    woken.driver.stop()
    woken.driver.arm(20)
    loop.run_until(50)

    assert woken.at_ms == [20]


@given(
    deadlines_ms=st.lists(st.none() | st.integers(0, 200), min_size=1, max_size=12),
    rounds_by_ns=st.sampled_from([0, 1, 1000, 500_000, 999_999, NS_PER_MS]),
)
def test_it_is_never_early_and_each_deadline_is_met(deadlines_ms: list[int | None], rounds_by_ns: int) -> None:
    """The core arms the timer for the next deadline after every door, at any time; a wake-up handles what is due."""
    with pytest.MonkeyPatch.context() as patch:
        loop = patched(patch, FakeLoop(rounds_by_ns))
        pending: list[int] = []
        early: list[int] = []

        def wake() -> None:
            due = [ms for ms in pending if ms * NS_PER_MS <= loop.now_ns]
            if not due:
                early.append(loop.now_ns)
            for ms in due:
                pending.remove(ms)
            driver.arm(min(pending, default=None))

        driver = TimerDriver(loop, wake, RealClock())  # type: ignore[arg-type]
        for step, deadline_ms in enumerate(deadlines_ms):
            if deadline_ms is not None:
                pending.append(deadline_ms)
            driver.arm(min(pending, default=None))
            loop.run_until(10 * step)
        loop.run_until(1000)

    assert early == []
    assert pending == []
    assert len(loop.waiting) <= 1


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, new_event_loop], ids=["asyncio", "ours"])
@pytest.mark.parametrize("delay_ms", [0, 1, 7, 20])
def test_a_real_loop_never_wakes_it_early(new_loop: Callable[[], Any], delay_ms: int) -> None:
    async def work() -> int:
        loop = asyncio.get_running_loop()
        woken = loop.create_future()
        driver = TimerDriver(loop, lambda: woken.set_result(system_clock.reached().mono_ms), RealClock())
        deadline_ms = system_clock.stamp().mono_ms + delay_ms
        driver.arm(deadline_ms)
        return int(await within(woken)) - deadline_ms

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert min(runner.run(work()) for _ in range(5)) >= 0
