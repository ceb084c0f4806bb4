"""The one watchdog of the tests: wait for a condition, and say what did not come.

No test fails because the machine is slow. So a test waits for a condition and never for a duration. The watchdog only
turns a hang into a failure with a message: a minute is far more than any of these conditions needs.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from multiprocessing.process import BaseProcess
from time import monotonic, sleep
from typing import TypeVar

T = TypeVar("T")

LIMIT_S = float(os.environ.get("FAKEBROKER_WATCHDOG_S", "60"))  # shorter while a test is written
LOOK_EVERY_S = 0.002


def wait_until(happened: Callable[[], object], what: str, limit_s: float = LIMIT_S) -> None:
    """Wait for a condition that another thread or process brings about."""
    end = monotonic() + limit_s
    while not happened():
        assert monotonic() < end, f"waited {limit_s:g} s for {what}"
        sleep(LOOK_EVERY_S)


async def until(happened: Callable[[], object], what: str, limit_s: float = LIMIT_S) -> None:
    """Wait for a condition while the loop goes on."""
    end = monotonic() + limit_s
    while not happened():
        assert monotonic() < end, f"waited {limit_s:g} s for {what}"
        await asyncio.sleep(LOOK_EVERY_S)


async def within(work: Awaitable[T], what: str = "the test's coroutine", limit_s: float = LIMIT_S) -> T:
    """Await something with a limit."""
    try:
        async with asyncio.timeout(limit_s) as timer:
            return await work
    except TimeoutError:
        if timer.expired():
            raise AssertionError(f"waited {limit_s:g} s for {what}") from None
        raise


def run(work: Awaitable[T], what: str = "the test's coroutine") -> T:
    """Run a coroutine in an event loop of its own."""
    return asyncio.run(within(work, what))


def call(function: Callable[[], T], what: str, limit_s: float = LIMIT_S) -> T:
    """Call a function that blocks, in a thread, and return what it returns."""
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name=what, daemon=True).start()
    try:
        return future.result(limit_s)
    except TimeoutError:
        if future.done():
            raise
        raise AssertionError(f"waited {limit_s:g} s for {what}") from None


def join(*threads: threading.Thread | BaseProcess, limit_s: float = LIMIT_S) -> None:
    """Wait for the end of threads or processes."""
    for thread in threads:
        thread.join(limit_s)
        assert not thread.is_alive(), f"waited {limit_s:g} s for the end of {thread.name}"


def wait_for(event: threading.Event, what: str, limit_s: float = LIMIT_S) -> None:
    """Wait for an event that another thread sets."""
    assert event.wait(limit_s), f"waited {limit_s:g} s for {what}"
