"""The watchdog fails a test that hangs, and its message names what did not come."""

from __future__ import annotations

import asyncio
import threading

import pytest
from support.watchdog import join, run, until, wait_for, wait_until, within

SHORT_S = 0.01


def test_a_condition_that_comes_is_waited_for() -> None:
    looks = iter([False, False, True])
    wait_until(lambda: next(looks), "the third look")
    assert list(looks) == []


def test_a_condition_that_does_not_come_is_named() -> None:
    with pytest.raises(AssertionError, match=r"^waited 0\.01 s for the end of time$"):
        wait_until(lambda: False, "the end of time", SHORT_S)


def test_the_loop_goes_on_while_a_condition_is_waited_for() -> None:
    async def work() -> None:
        looks: list[int] = []
        asyncio.get_running_loop().call_later(SHORT_S, looks.append, 1)
        await until(lambda: looks, "the loop's timer")

    run(work())


def test_a_condition_in_a_loop_that_does_not_come_is_named() -> None:
    with pytest.raises(AssertionError, match=r"^waited 0\.01 s for the end of time$"):
        run(until(lambda: False, "the end of time", SHORT_S))


def test_a_coroutine_that_hangs_is_named() -> None:
    with pytest.raises(AssertionError, match=r"^waited 0\.01 s for a lock that is never freed$"):
        run(within(asyncio.Event().wait(), "a lock that is never freed", SHORT_S))


def test_a_timeout_of_the_coroutine_itself_is_left_alone() -> None:
    async def work() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        run(work())


def test_a_thread_that_hangs_is_named() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="slow", daemon=True)
    thread.start()
    with pytest.raises(AssertionError, match=r"^waited 0\.01 s for the end of slow$"):
        join(thread, limit_s=SHORT_S)
    end.set()
    join(thread)


def test_an_event_that_does_not_come_is_named() -> None:
    with pytest.raises(AssertionError, match=r"^waited 0\.01 s for a signal$"):
        wait_for(threading.Event(), "a signal", SHORT_S)
