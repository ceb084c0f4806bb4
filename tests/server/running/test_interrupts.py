"""Ctrl-C, or a test's time limit, in the middle of `FakeCluster.start()` and `stop()`: no thread, no port, and it
starts again. Each of our lines is interrupted once, and each wait gets a signal."""

from __future__ import annotations

import asyncio
import linecache
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from support.event_loops import LOOPS
from support.ports import free_ports
from support.raw_client import RawClient
from support.requests import api_versions
from support.watchdog import until, wait_for, wait_until

from fakebroker import FakeCluster
from fakebroker.server import fake_cluster
from fakebroker.server.listeners import Listeners
from fakebroker.server.running import loop_thread

FILES = {fake_cluster.__file__, loop_thread.__file__}
MOST_LINES = 400


class Interrupted(BaseException):
    """An interrupt like pytest's own for a time limit: no Exception."""


@pytest.fixture(params=LOOPS.values(), ids=list(LOOPS), autouse=True)
def new_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_cluster, "new_event_loop", request.param)
    request.param().close()  # the first loop of its kind opens files that stay open


def nothing_is_called(frame: FrameType) -> bool:
    """Return True for a line at which Python does not check for signals. It checks after a call, and at the start of a
    function or of a turn of a loop. An interrupt at such a line would leave a `with` block open."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return line.startswith("with ") or line == "try:"


def interrupted_at(line: int, function: Callable[[], object]) -> bool:
    """Run it, and raise Interrupted when this thread comes to that line of all; whether there were so many."""
    left = line

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line" and not nothing_is_called(frame):
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise Interrupted
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except Interrupted:
        return True
    finally:
        sys.settrace(before)
    return False


def is_free(port: int) -> bool:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def nothing_is_left(port: int) -> bool:
    return not has_thread() and is_free(port)


def has_thread() -> bool:
    """Return True if the thread runs. Python also lists one that it was about to start."""
    return any(thread.name == "fakebroker" and thread.is_alive() for thread in threading.enumerate())


def lines_of(function: Callable[[int], bool]) -> Iterator[int]:
    """Return the numbers of the lines at which it can be interrupted."""
    for line in range(1, MOST_LINES):
        if not function(line):
            return
        yield line
    raise AssertionError("it does not come to an end")


@pytest.mark.parametrize("use", [FakeCluster.start, FakeCluster.__enter__], ids=["start", "with"])
def test_a_start_that_is_interrupted_leaves_nothing(use: Callable[[FakeCluster], object]) -> None:
    port = free_ports(1)
    files = len(os.listdir("/dev/fd"))

    def attempt(line: int) -> bool:
        kafka = FakeCluster(brokers=1, port=port)
        if not interrupted_at(line, lambda: use(kafka)):
            kafka.stop()
            return False
        wait_until(lambda: nothing_is_left(port), f"the end of what line {line} left")
        with kafka, RawClient(kafka.endpoints[0]) as client:
            client.ask(api_versions())
        return True

    assert len(list(lines_of(attempt))) > 10
    assert len(os.listdir("/dev/fd")) == files


def test_a_stop_that_is_interrupted_stops_all_the_same() -> None:
    port = free_ports(1)

    def attempt(line: int) -> bool:
        kafka = FakeCluster(brokers=1, port=port)
        kafka.start()
        was_interrupted = interrupted_at(line, kafka.stop)
        if was_interrupted and not nothing_is_left(port):
            kafka.stop()  # a cleanup calls it again
        wait_until(lambda: nothing_is_left(port), f"the end of what line {line} left")
        with kafka:
            pass
        return was_interrupted

    assert len(list(lines_of(attempt))) > 10


@contextmanager
def signal_when(reached: threading.Event) -> Iterator[threading.Event]:
    """Send a signal to the main thread. Its handler raises Interrupted, like pytest's time limit. Python sees a signal
    just before a wait for a lock only afterwards. So it is sent until it is seen, which sets the event."""
    seen = threading.Event()

    def send() -> None:
        wait_for(reached, "the call that is interrupted")
        while not seen.wait(0.05):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)

    def interrupt(*_: object) -> None:
        if not seen.is_set():
            seen.set()
            raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield seen
    finally:
        sender.join()
        signal.signal(signal.SIGALRM, before)


def test_a_start_that_hangs_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start hangs while a name server does not respond."""
    reached = threading.Event()

    async def hang(self: object, *_: object) -> None:
        reached.set()
        await asyncio.Event().wait()

    monkeypatch.setattr("fakebroker.server.listeners.Listeners.take", hang)
    kafka = FakeCluster()
    with signal_when(reached), pytest.raises(Interrupted):
        kafka.start()
    assert not has_thread()
    kafka.stop()


def test_a_stop_that_takes_time_goes_on_when_it_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    reached = threading.Event()
    stop = Listeners.stop

    async def stop_late(self: Listeners) -> None:
        reached.set()
        await until(seen.is_set, "the signal")
        await stop(self)

    monkeypatch.setattr(Listeners, "stop", stop_late)
    kafka = FakeCluster(brokers=1)
    kafka.start()
    port = kafka.endpoints[0].port
    with signal_when(reached) as seen, pytest.raises(Interrupted):
        kafka.stop()
    assert nothing_is_left(port)
