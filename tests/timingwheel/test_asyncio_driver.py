"""The driver for event loops: exactly, on a loop with virtual time, and briefly, on the real ones."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvloop
from support.virtual_loop import VirtualLoop
from support.watchdog import LIMIT_S
from wheel_recording import Recording

from timingwheel import TimerTask
from timingwheel.asyncio_driver import AsyncioTimer


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


@pytest.fixture(params=[asyncio.SelectorEventLoop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def real_loop(request: pytest.FixtureRequest) -> Iterator[asyncio.AbstractEventLoop]:
    loop = request.param()
    yield loop
    loop.close()


def run_for(loop: VirtualLoop, seconds: float) -> None:
    loop.call_at(loop.now + seconds, loop.stop)
    loop.run_forever()


def at(loop: VirtualLoop, log: list[object]) -> Callable[[object], None]:
    """A callback that notes what and when, in ms since the start."""
    return lambda what: log.append((what, round((loop.now - 1_000) * 1000, 3)))


def test_callbacks_run_at_their_times_in_order(loop: VirtualLoop) -> None:
    timer = AsyncioTimer(loop)
    log: list[object] = []
    for delay in (0.5, 0.020, 0.0, 30.0, 0.021, 0.020):
        timer.call_later(delay, at(loop, log), delay)
    assert log == []
    run_for(loop, 60)
    assert log == [(0.0, 0), (0.020, 20), (0.020, 20), (0.021, 21), (0.5, 500), (30.0, 30_000)]
    assert timer.size == 0


def test_it_sleeps_until_the_next_deadline_and_does_not_poll(loop: VirtualLoop) -> None:
    timer = AsyncioTimer(loop)
    log: list[object] = []
    timer.call_later(3600, at(loop, log), "hour")
    run_for(loop, 7200)
    assert log == [("hour", 3_600_000)]
    assert loop.turns < 12, "one turn for each level that the task comes down, and a few to start and stop"


def test_an_earlier_task_brings_the_alarm_forward(loop: VirtualLoop) -> None:
    timer = AsyncioTimer(loop)
    log: list[object] = []
    timer.call_later(10, at(loop, log), "late")
    timer.call_later(0.015, at(loop, log), "early")
    run_for(loop, 20)
    assert log == [("early", 15), ("late", 10_000)]


def test_nothing_fires_early_between_milliseconds(loop: VirtualLoop) -> None:
    timer = AsyncioTimer(loop)
    log: list[object] = []
    loop.now += 0.0004
    timer.call_later(0.0101, at(loop, log), "call_later")
    timer.add(Recording(10, "task", log))
    run_for(loop, 1)
    assert log == [("call_later", 11), "task"], "asked for 10.5 and 10.4, which is 11 both"


@pytest.mark.parametrize("when_ms", [1_000_001, 1_001_001, 1_234_567, 1_000_999])
def test_float_seconds_are_exact_milliseconds(loop: VirtualLoop, when_ms: int) -> None:
    timer = AsyncioTimer(loop)
    log: list[object] = []
    handle = timer.call_at(when_ms / 1000, log.append, 1)
    assert (handle.deadline_ms, handle.when()) == (when_ms, when_ms / 1000)
    run_for(loop, 300)
    assert log == [1]


def test_every_millisecond_is_read_as_itself(loop: VirtualLoop) -> None:
    timer = AsyncioTimer(loop)
    for now_ms in range(3_000):  # 1.001 * 1000 is a little less than 1001
        loop.now = now_ms / 1000
        assert timer.now_ms() == now_ms


def alarms(loop: VirtualLoop) -> int:
    """Timers the loop itself still has to serve."""
    return sum(not handle.cancelled() for handle in loop._scheduled)


def test_the_loop_holds_one_alarm_whatever_is_pending(loop: VirtualLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    timer, armed = AsyncioTimer(loop), []
    real_call_at = loop.call_at

    def call_at(when: float, *args: Any, **more: Any) -> object:
        armed.append(when)
        return real_call_at(when, *args, **more)

    monkeypatch.setattr(loop, "call_at", call_at)

    def add_many() -> None:
        for n in range(50):
            timer.call_later(10 - n / 10, lambda: None)

    for delay in (5, 6, 7, 8, 3, 4):
        timer.call_later(delay, lambda: None)
    assert len(armed) == 2, "for the first, and for the one that was sooner"
    assert alarms(loop) == 1
    timer.call_later(0.001, add_many)
    armed.clear()
    loop.call_soon(loop.stop)
    loop.now += 0.001
    loop.run_forever()
    assert timer.size == 56
    assert len(armed) == 1, "not one for each task that a callback adds"
    assert alarms(loop) == 1


def test_cancel(loop: VirtualLoop) -> None:
    timer = AsyncioTimer(loop)
    log: list[object] = []
    handle = timer.call_later(1, log.append, 1)
    when = handle.when()
    assert not handle.cancelled()
    assert handle.cancel()
    assert handle.cancelled()
    assert not handle.cancel()
    assert (timer.size, handle.when()) == (0, when)
    run_for(loop, 2)
    assert log == []


def test_cancelling_lets_go_of_the_callback_at_once(loop: VirtualLoop) -> None:
    class Big:
        def method(self) -> None: ...

    timer, big = AsyncioTimer(loop), Big()
    alive = weakref.ref(big)
    gc.disable()
    try:
        handle = timer.call_later(1000, big.method)
        del big
        assert alive() is not None
        handle.cancel()
        assert alive() is None
    finally:
        gc.enable()


def test_callbacks_add_and_cancel(loop: VirtualLoop) -> None:
    timer = AsyncioTimer(loop)
    log: list[object] = []
    later = timer.call_later(0.030, at(loop, log), "cancelled")

    def first() -> None:
        at(loop, log)("first")
        later.cancel()
        timer.call_later(0, at(loop, log), "soon")
        timer.call_later(0.005, at(loop, log), "then")

    timer.call_later(0.010, first)
    run_for(loop, 1)
    assert log == [("first", 10), ("soon", 10), ("then", 15)]


def test_a_task_that_adds_itself_at_once_leaves_the_loop_its_turns(loop: VirtualLoop) -> None:
    timer, count = AsyncioTimer(loop), []

    def again() -> None:
        count.append(1)
        timer.call_later(0, again)

    again()
    for _ in range(10):
        loop.call_soon(loop.stop)
        loop.run_forever()
    assert 5 <= len(count) <= 11


def test_the_limit_gives_the_loop_a_turn(loop: VirtualLoop) -> None:
    timer = AsyncioTimer(loop, limit=10)
    log: list[object] = []
    for n in range(35):
        timer.call_later(0.010, log.append, n)
    seen = []

    def look() -> None:
        seen.append(len(log))
        if timer.size:
            loop.call_soon(look)

    loop.call_later(0.010, look)
    run_for(loop, 1)
    assert log == list(range(35))
    assert {10, 20, 30} <= set(seen)


def test_an_exception_is_reported_and_stops_nothing(loop: VirtualLoop) -> None:
    timer = AsyncioTimer(loop)
    log: list[object] = []
    reports: list[str] = []
    loop.set_exception_handler(lambda _, context: reports.append(repr(context["exception"])))

    class Bad(TimerTask):
        def run(self) -> None:
            raise ValueError("task")

    timer.call_later(0.010, lambda: 1 // 0)
    timer.add(Bad(10))
    timer.call_later(0.010, log.append, "same time")
    timer.call_later(0.020, log.append, "later")
    run_for(loop, 1)
    assert reports == ["ZeroDivisionError('integer division or modulo by zero')", "ValueError('task')"]
    assert log == ["same time", "later"]


def test_system_exit_leaves_the_loop(loop: VirtualLoop) -> None:
    timer = AsyncioTimer(loop)
    log: list[object] = []

    def leave() -> None:
        raise SystemExit(3)

    timer.call_later(0.010, leave)
    timer.call_later(0.010, log.append, 1)
    with pytest.raises(SystemExit):
        run_for(loop, 1)
    run_for(loop, 1)
    assert log == [1], "what was due is run when the loop goes on"


def test_callbacks_run_in_the_context_they_were_given(loop: VirtualLoop) -> None:
    name = contextvars.ContextVar("name", default="none")
    timer, log = AsyncioTimer(loop), []
    name.set("mine")
    timer.call_later(0.01, lambda: log.append(name.get()))
    own = contextvars.Context()
    own.run(name.set, "own")
    timer.call_later(0.01, lambda: log.append(name.get()), context=own)
    name.set("changed")
    run_for(loop, 1)
    assert log == ["mine", "own"]


def test_it_can_take_the_place_of_loop_call_later(loop: VirtualLoop) -> None:
    timer = AsyncioTimer(loop)
    loop.call_later = timer.call_later  # type: ignore[method-assign, assignment]

    async def main() -> str:
        await asyncio.sleep(5)
        assert loop.now == 1_005
        try:
            async with asyncio.timeout(1):
                await asyncio.sleep(30)
        except TimeoutError:
            return f"timed out at {loop.now:g}, {timer.size} pending"
        return "no timeout"

    assert loop.run_until_complete(main()) == "timed out at 1006, 0 pending"


def test_close(loop: VirtualLoop) -> None:
    timer = AsyncioTimer(loop)
    log: list[object] = []
    handle = timer.call_later(0.01, log.append, 1)
    timer.close()
    timer.close()
    assert not handle.is_pending
    with pytest.raises(RuntimeError, match="closed"):
        timer.call_later(1, log.append, 2)
    run_for(loop, 1)
    assert log == []


def test_a_callback_may_close(loop: VirtualLoop) -> None:
    timer = AsyncioTimer(loop)
    log: list[object] = []
    timer.call_later(0.01, timer.close)
    timer.call_later(0.01, log.append, 1)
    run_for(loop, 1)
    assert (log, timer.size) == ([], 0)


def test_a_limit_below_one_is_refused(loop: VirtualLoop) -> None:
    with pytest.raises(ValueError, match="limit"):
        AsyncioTimer(loop, limit=0)


def test_real_loops(real_loop: asyncio.AbstractEventLoop) -> None:
    async def main() -> list[tuple[int, bool]]:
        timer = AsyncioTimer()
        done = asyncio.Event()
        log: list[tuple[int, bool]] = []
        start = real_loop.time()

        def fired(ms: int) -> None:
            # 1 us for the rounding of seconds in floats.
            log.append((ms, real_loop.time() - start >= ms / 1000 - 1e-6))
            if len(log) == 5:
                done.set()

        for ms in (30, 5, 0, 12, 5):
            timer.call_later(ms / 1000, fired, ms)
        cancelled = timer.call_later(0.008, fired, 8)
        timer.call_later(0.002, cancelled.cancel)
        async with asyncio.timeout(LIMIT_S):
            await done.wait()
        timer.timer.check_invariants()
        timer.close()
        return log

    # In any order: each delay counts from its own call, and a busy machine may stop us for 5 ms between two of them.
    log = real_loop.run_until_complete(main())
    assert sorted(log) == [(0, True), (5, True), (5, True), (12, True), (30, True)]
