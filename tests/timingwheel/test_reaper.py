"""The driver for threads. Threads are real; the clock is, too, where no order of deadlines depends on it."""

from __future__ import annotations

import threading
import time
import weakref
from concurrent.futures import Future

import pytest
from support.watchdog import LIMIT_S, join, wait_for, wait_until
from wheel_recording import Recording

from timingwheel import SystemTimer, TimerTask
from timingwheel.reaper import SystemTimerReaper


class StandingClock:
    """Nanoseconds that pass when told. The reaper looks at it when a task is added."""

    def __init__(self) -> None:
        self.ns = 5_000_000_000

    def __call__(self) -> int:
        return self.ns

    def let_pass(self, ms: int, reaper: SystemTimerReaper) -> None:
        """Let time pass, and return when all that is due has run."""
        self.ns += ms * 1_000_000
        done = threading.Event()
        reaper.call_later(0, done.set)
        wait(done)


def standing_still() -> tuple[StandingClock, SystemTimerReaper]:
    clock = StandingClock()
    return clock, SystemTimerReaper("reaper", SystemTimer(5_000), clock_ns=clock)


def wait(event: threading.Event) -> None:
    wait_for(event, "the reaper's task")


class Timeout(TimerTask):
    """Fails a future, as the tasks of Kafka's SystemTimerReaperTest do."""

    def __init__(self, delay_ms: int, future: Future[None]) -> None:
        super().__init__(delay_ms)
        self.future = future

    def run(self) -> None:
        self.future.set_exception(TimeoutError())


def test_reaper() -> None:
    with SystemTimerReaper("reaper") as reaper:
        for _ in range(2):  # the second time the reaper has been idle
            futures: list[Future[None]] = [Future() for _ in range(3)]
            start = time.monotonic()
            for delay_ms, future in zip((10, 20, 30), futures, strict=True):
                reaper.add(Timeout(delay_ms, future))
            for future in futures:
                assert isinstance(future.exception(LIMIT_S), TimeoutError)
            assert time.monotonic() - start >= 0.030, "early"
        assert reaper.size == 0


def test_close_ends_the_thread_and_closes_the_timer_once() -> None:
    timer = SystemTimer(0)
    closes = []

    class Watched:
        """The timer, with its calls of close noted. Not a subclass: a compiled SystemTimer has none."""

        def __getattr__(self, name: str) -> object:
            if name == "close":
                closes.append(name)
            return getattr(timer, name)

    reaper = SystemTimerReaper("reaper", Watched())  # type: ignore[arg-type]
    log: list[object] = []
    task = Recording(60_000, "never", log)
    reaper.add(task)
    was_alive = reaper.is_alive
    assert was_alive
    reaper.close()
    reaper.close()
    assert not reaper.is_alive
    assert closes == ["close"]
    assert (task.is_pending, log) == (False, [])
    with pytest.raises(RuntimeError, match="closed"):
        reaper.add(task)


def test_a_reaper_needs_a_name() -> None:
    with pytest.raises(ValueError, match="name"):
        SystemTimerReaper("")
    with SystemTimerReaper("expiration-reaper"):
        names = {thread.name: thread.daemon for thread in threading.enumerate()}
    assert names["expiration-reaper"] is True


def test_an_earlier_task_wakes_the_sleeper() -> None:
    with SystemTimerReaper("reaper") as reaper:
        reaper.call_later(3600, lambda: None)
        wait_until(lambda: reaper._sleeps_until_ms is not None, "the reaper's sleep")
        done = threading.Event()
        reaper.call_later(0.005, done.set)
        wait(done)
        assert reaper.size == 1


def test_a_task_that_has_run_is_not_kept_alive() -> None:
    class Large(TimerTask):
        def run(self) -> None:
            pass

    with SystemTimerReaper("reaper") as reaper:
        task = Large(0)
        alive = weakref.ref(task)
        reaper.add(task)
        del task
        wait_until(lambda: alive() is None, "the end of the task that has run")


def test_tasks_run_one_at_a_time_in_the_order_of_their_deadlines() -> None:
    clock, reaper = standing_still()
    with reaper:
        log: list[int] = []
        for ms in (9, 3, 12, 6):
            reaper.call_later(ms / 1000, log.append, ms)
        clock.let_pass(15, reaper)
    assert log == [3, 6, 9, 12]


def test_cancel_from_another_thread() -> None:
    clock, reaper = standing_still()
    with reaper:
        log: list[object] = []
        handle = reaper.call_later(0.005, log.append, "cancelled")
        task = Recording(5, "cancelled", log)
        reaper.add(task)
        assert handle.cancel()
        assert reaper.cancel(task)
        assert not handle.cancel()
        clock.let_pass(10, reaper)
    assert log == []


def test_a_task_may_add_cancel_and_close() -> None:
    reaper = SystemTimerReaper("reaper")
    log: list[object] = []

    def first() -> None:
        log.append(other.cancel())
        reaper.call_later(0.001, second)

    def second() -> None:
        log.append("second")
        reaper.close()

    other = reaper.call_later(3600, log.append, "never")
    reaper.call_later(0, first)
    join(reaper._thread)
    assert not reaper.is_alive
    reaper.close()
    assert log == [True, "second"]


def test_an_exception_is_reported_and_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[tuple[type[BaseException], str]] = []
    monkeypatch.setattr(
        threading, "excepthook", lambda args: reports.append((args.exc_type, args.thread.name if args.thread else ""))
    )
    with SystemTimerReaper("reaper") as reaper:
        done = threading.Event()
        reaper.call_later(0, lambda: 1 // 0)
        reaper.call_later(0.002, done.set)
        wait(done)
    assert reports == [(ZeroDivisionError, "reaper")]


def test_many_threads_add_and_cancel() -> None:
    """Every task runs exactly once or was cancelled exactly once, and the structure is whole."""
    timer = SystemTimer(0)
    ran: list[int] = []
    cancelled: list[int] = []
    with SystemTimerReaper("reaper", timer) as reaper:

        def work(worker: int) -> None:
            handles = []
            for n in range(300):
                number = worker * 300 + n
                handles.append((number, reaper.call_later(n % 7 / 1000, ran.append, number)))
                if n % 3 == 0:
                    number, handle = handles[n // 2]
                    if handle.cancel():
                        cancelled.append(number)

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        join(*threads)
        done = threading.Event()
        reaper.call_later(0.010, done.set)
        wait(done)
        with reaper._changed:
            timer.check_invariants()
        assert reaper.size == 0
    assert sorted(ran + cancelled) == list(range(8 * 300))


def test_no_task_runs_while_the_clock_does_not_move() -> None:
    """The clock is an argument; nothing runs before it says so."""
    clock, reaper = standing_still()
    with reaper:
        log: list[object] = []
        early, late = threading.Event(), threading.Event()
        reaper.call_later(0.0101, log.append, "late")
        clock.ns += 10_900_000
        reaper.call_later(-1, early.set)
        wait(early)
        assert log == [], "due at 5.0101 s, hence at 5,011 ms; it is 5,010.9"
        clock.ns += 100_000
        reaper.call_later(0, late.set)
        wait(late)
        assert log == ["late"]
