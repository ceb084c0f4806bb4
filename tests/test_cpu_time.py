"""The measures of CPU time: a busy machine changes none of them, and sleep is told from work."""

from __future__ import annotations

import os
import sys
import threading

import pytest
from support import cpu_time
from support.cpu_time import ProcessTimes, Slowness, scheduled_s
from support.watchdog import join

Figures = dict[str, tuple[float, float]]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The readings of the wall clock that come next."""
    readings: list[float] = []
    monkeypatch.setattr(cpu_time, "monotonic", lambda: readings.pop(0))
    return readings


def told(monkeypatch: pytest.MonkeyPatch, *figures: Figures) -> None:
    left = list(figures)
    monkeypatch.setattr(cpu_time, "scheduled_s", lambda _: left.pop(0))


def test_sleep_is_what_is_left_of_wall_time(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    clock += [100.0, 103.0]
    told(monkeypatch, {"a": (5.0, 1.0)}, {"a": (5.5, 1.25), "new": (0.25, 0.5)})
    times = ProcessTimes(1)
    times.look()

    assert (times.ran_s(), times.waited_s(), times.slept_s()) == (0.75, 0.75, 1.5)


def test_threads_that_run_side_by_side_leave_no_sleep(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    clock += [100.0, 101.0]
    told(monkeypatch, {"a": (0.0, 0.0), "b": (0.0, 0.0)}, {"a": (0.9, 0.0), "b": (0.9, 0.0)})
    times = ProcessTimes(1)
    times.look()

    assert times.slept_s() == 0


def test_a_thread_that_has_ended_keeps_its_last_figures(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    clock += [100.0, 101.0, 102.0]
    told(monkeypatch, {"a": (0.0, 0.0)}, {"a": (0.5, 0.0), "b": (0.25, 0.0)}, {"a": (1.0, 0.0)})
    times = ProcessTimes(1)
    times.look()
    times.look()

    assert times.ran_s() == 1.25


def test_a_core_that_is_slower_makes_limits_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = iter([3.0, 2.0, 9.0])
    monkeypatch.setattr(cpu_time, "control_ms", lambda: next(taken))
    slowness = Slowness()
    for _ in range(3):
        slowness.take()

    assert slowness.factor() == 3.0 / cpu_time.CONTROL_MS


def test_a_core_that_is_faster_makes_no_limit_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_time, "control_ms", lambda: cpu_time.CONTROL_MS / 10)
    slowness = Slowness()
    slowness.take()

    assert slowness.factor() == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_linux_tells_of_every_thread_of_a_process() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait, daemon=True)
    thread.start()
    times = scheduled_s(os.getpid())
    end.set()
    join(thread)

    assert {str(os.getpid()), str(thread.native_id)} <= set(times)
    assert all(ran >= 0 and waited >= 0 for ran, waited in times.values())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_a_thread_that_sleeps_sleeps_and_one_that_works_does_not() -> None:
    asleep = ProcessTimes()
    threading.Event().wait(0.2)
    asleep.look()
    awake = ProcessTimes()
    for _ in range(200):
        cpu_time.control_ms()
    awake.look()

    assert asleep.slept_s() > awake.slept_s()
    assert awake.ran_s() > asleep.ran_s()


def test_a_process_that_does_not_exist_has_no_threads() -> None:
    assert scheduled_s(2**30) == {}
