"""Stalls drawn by seed, FAKEBROKER_SHAKE=SEED: what passes without them and fails with them depends on luck.

Why        Beside busy loops all threads of a process are late alike, and a race is lost once in a hundred runs. Here a
           single thread, loop or process is paused while the others go on.
Threads    A new thread begins late, or the thread that starts it goes on late. A wait for another thread ends late.
Sockets    A call of a Python socket begins late or returns late.
Loops      An event loop is paused before a callback or a step of a task.
Processes  A program that a test has started is paused (SIGSTOP), or a worker of the tests.
Limits     The draws of a test follow from the seed and its name, but its threads take them in an order that no seed
           decides: a failure can need several runs to be seen again.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "FAKEBROKER_SHAKE"
SHARES = {"threads": 0.3, "waits": 0.05, "sockets": 0.02, "loops": 0.002}  # of all of a kind, before the test's factor
FACTORS = (0.0, 1.0, 10.0, 50.0)
MEANS_S = (0.0005, 0.005)
LONGEST_S = 0.1
BUDGET_S = 1.0  # the stalls of a test together
BETWEEN_STOPS_S, MEAN_STOP_S, LONGEST_STOP_S = 0.3, 0.05, 0.5

_sleep = time.sleep  # a test may replace it


class _Stalls:
    """The stalls of one test. Some kinds are frequent in it and others do not occur, so that one of two racing threads
    can be late for long."""

    def __init__(self) -> None:
        self.begin_test("")

    def begin_test(self, seed: str) -> None:
        self._draws = random.Random(seed)
        self._shares = {kind: share * self._draws.choice(FACTORS) for kind, share in SHARES.items()}
        self._mean_s = self._draws.choice(MEANS_S)
        self._left_s = BUDGET_S

    def is_due(self, kind: str) -> bool:
        return self._left_s > 0 and self._draws.random() < self._shares[kind]

    def stall(self) -> None:
        """Pause the calling thread."""
        seconds = min(self._draws.expovariate(1 / self._mean_s), LONGEST_S)
        self._left_s -= seconds
        _sleep(seconds)

    def stall_if_due(self, kind: str) -> None:
        if self.is_due(kind):
            self.stall()


_stalls = _Stalls()


def _shaken(function: Callable[..., Any], kind: str) -> Callable[..., Any]:
    """Return the function with stalls before and after it."""

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        _stalls.stall_if_due(kind)
        try:
            return function(*arguments, **named)
        finally:
            _stalls.stall_if_due(kind)

    return call


def _shaken_body(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what starts a thread, with a stall of the new thread."""

    @wraps(function)
    def start(body: Callable[..., Any], *rest: Any, **named: Any) -> Any:
        @wraps(body)
        def late(*arguments: Any) -> Any:
            _stalls.stall_if_due("threads")
            return body(*arguments)

        return function(late, *rest, **named)

    return start


def _shaken_loop(base: type[Any]) -> type[Any]:
    class ShakenLoop(base):  # type: ignore[misc]
        def call_soon(self, callback: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
            if _stalls.is_due("loops"):
                super().call_soon(_stalls.stall)
            return super().call_soon(callback, *arguments, **named)

    return ShakenLoop


def _shake_threads() -> None:
    module: Any = threading
    for name in ("_start_new_thread", "_start_joinable_thread"):  # until Python 3.12, and after
        if hasattr(module, name):
            setattr(module, name, _shaken(_shaken_body(getattr(module, name)), "threads"))
    module.Condition.wait = _shaken(threading.Condition.wait, "waits")


def _shake_sockets() -> None:
    kind: Any = socket.socket
    for name in ("connect", "accept", "recv", "recv_into", "send", "sendall"):
        setattr(kind, name, _shaken(getattr(kind, name), "sockets"))


def _shake_loops() -> None:
    base: Any = asyncio.BaseEventLoop
    call_soon = base.call_soon

    def late(self: Any, callback: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        if _stalls.is_due("loops"):
            call_soon(self, _stalls.stall)
        return call_soon(self, callback, *arguments, **named)

    base.call_soon = late
    with suppress(ImportError):
        import uvloop

        uvloop.Loop = _shaken_loop(uvloop.Loop)  # type: ignore[misc]


def begin() -> Shaking | None:
    """Shake this process from now on if the environment has a seed. Must come before the first event loop."""
    seed = os.environ.get(VARIABLE)
    if not seed:
        return None
    _shake_threads()
    _shake_sockets()
    _shake_loops()
    return Shaking(seed)


class Shaking:
    """The plugin of pytest."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._stops: subprocess.Popen[bytes] | None = None

    def pytest_report_header(self) -> str:
        return f"stalls: seed {self._seed}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput"):  # the main process stops the workers, too
            return
        command = [sys.executable, __file__, self._seed, str(os.getpid())]
        self._stops = subprocess.Popen(command, stdin=subprocess.PIPE)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        _stalls.begin_test(f"{self._seed} {item.nodeid}")

    def pytest_sessionfinish(self) -> None:
        if self._stops is not None:
            self._stops.communicate()


def descendants(pid: int) -> list[int]:
    """Return the processes that this one has started, and those that they have started."""
    pids = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                pids += [child, *descendants(child)]
    return pids


def is_stopped(pid: int) -> bool:
    """Return True for a process that a test has stopped, or that has ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "TtZX"


def stop_processes(parent: int, draws: random.Random, has_ended: Callable[[float], bool]) -> None:
    """Pause one of the descendants after the other, until `has_ended` within some seconds."""
    while not has_ended(draws.uniform(0, 2 * BETWEEN_STOPS_S)):
        others = [pid for pid in descendants(parent) if pid != os.getpid() and not is_stopped(pid)]
        if others:
            pid = draws.choice(others)
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGSTOP)
                try:
                    _sleep(min(draws.expovariate(1 / MEAN_STOP_S), LONGEST_STOP_S))
                finally:
                    os.kill(pid, signal.SIGCONT)


if __name__ == "__main__":
    import select

    def is_over(seconds: float) -> bool:
        return bool(select.select([sys.stdin], [], [], seconds)[0])

    stop_processes(int(sys.argv[2]), random.Random(sys.argv[1]), is_over)
