"""A test leaves nothing behind: no process, no thread, no open socket, and the session no file in the checkout.

Shape    A plugin of pytest. After the teardown of each test it compares what exists with what was there before the
         first test. What a fixture of a larger scope makes is known for as long as that fixture lives.
Cost     Two system calls, the list of threads, and one link for each open file: about a tenth of a millisecond.
Limits   Only Linux has /proc: elsewhere threads alone are checked. Spark opens sockets and threads when it wants to:
         tests that use its session are checked for processes alone. A test that starts brokers of a cluster which
         others share (marked `changes_shared_cluster`) is not checked for sockets. Sockets are checked at night.
"""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support import doses, forked
from support.watchdog import LIMIT_S, wait_until

FILES = Path("/proc/self/fd")
CHECKOUT = Path(__file__).parents[2]
SESSION_LONG = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")  # the standard library keeps them
OF_TOOLS = ("__pycache__", "cache/", ".hypothesis/", ".venv/", ".coverage", ".egg-info/", "build/")

Thing = tuple[str, object]  # a kind, and what tells it from others of its kind


def threads() -> Iterator[Thing]:
    yield from (("thread", thread) for thread in threading.enumerate())


def children() -> Iterator[Thing]:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # by far the most frequent case
        return
    for task in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            yield from (("process", int(pid)) for pid in task.read_text().split())


def sockets() -> Iterator[Thing]:
    with suppress(OSError):
        for name in os.listdir(FILES):
            with suppress(OSError):
                link = os.readlink(f"{FILES}/{name}")
                if link.startswith("socket:"):
                    yield "socket", link


KINDS = {"thread": threads, "process": children, "socket": sockets}
WITHOUT_SOCKETS = ("process", "thread")


def existing(kinds: tuple[str, ...] = tuple(KINDS)) -> set[Thing]:
    return {thing for kind in kinds for thing in KINDS[kind]()}


def command_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def described(thing: Thing) -> str:
    kind, which = thing
    if kind == "thread":
        assert isinstance(which, threading.Thread)
        return f"thread {which.name}"
    if kind == "process":
        assert isinstance(which, int)
        return f"process {which}: {command_of(which) or 'it has ended, and was not waited for'}"
    for name in os.listdir(FILES):
        with suppress(OSError):
            if os.readlink(f"{FILES}/{name}") == which:
                with socket.socket(fileno=os.dup(int(name))) as copy:
                    return f"socket {name}, {copy.getsockname()} to {peer_of(copy)}"
    return f"{which}"


def peer_port(which: object) -> int | None:
    for name in os.listdir(FILES):
        with suppress(OSError, ValueError, IndexError):
            if os.readlink(f"{FILES}/{name}") == which:
                with socket.socket(fileno=os.dup(int(name))) as copy:
                    return int(copy.getpeername()[1])
    return None


def peer_of(connection: socket.socket) -> str:
    try:
        return str(connection.getpeername())
    except OSError:
        return "nobody"


class Leftovers:
    """A plugin that compares, and fails the test that leaves something behind."""

    def __init__(self, limit_s: float = LIMIT_S, kinds: tuple[str, ...] = tuple(KINDS)) -> None:
        self._limit_s = limit_s
        self._kinds = kinds
        self._known = existing(self._kinds)
        self._of_fixtures: dict[int, set[Thing]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        before = existing(self._kinds)
        try:
            return (yield)
        finally:
            self._of_fixtures[id(fixturedef)] = existing(self._kinds) - before

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        self._of_fixtures.pop(id(fixturedef), None)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        yield
        kinds = checked_after(item)
        left = self.leftovers(kinds)
        if left or len(kinds) < len(self._kinds):
            self._known |= existing(self._kinds)  # what is left is told once; what is not checked may stay
        if left:
            pytest.fail("left behind: " + "; ".join(sorted(map(described, left))), pytrace=False)

    def leftovers(self, kinds: tuple[str, ...] = tuple(KINDS)) -> set[Thing]:
        """Return what is left when all has had its time to end."""
        if not self._new(kinds):
            return set()
        gc.collect()  # clients of librdkafka end when they are collected
        with suppress(AssertionError):
            wait_until(lambda: not self._new(kinds), "the end of what a test began", self._limit_s)
        gc.collect()  # what became garbage in the meantime
        return self._new(kinds)

    def _new(self, kinds: tuple[str, ...]) -> set[Thing]:
        new = existing(kinds) - self._known
        for things in self._of_fixtures.values():
            new -= things
        return {thing for thing in new if not is_of_the_session(thing)}


def kinds_of_dose() -> tuple[str, ...]:
    """Return what is checked at all. To read the sockets takes as long as an empty test, so only at night: one
    listening socket in 30,000 tests was left for a reason that is not known yet."""
    return tuple(KINDS) if doses.is_nightly() else WITHOUT_SOCKETS


def checked_after(item: pytest.Item) -> tuple[str, ...]:
    if "spark" in getattr(item, "fixturenames", ()):
        return ("process",)
    if item.get_closest_marker("changes_shared_cluster"):
        return WITHOUT_SOCKETS
    return kinds_of_dose()


def is_of_the_session(thing: Thing) -> bool:
    kind, which = thing
    if kind == "thread":
        return False
    if which in forked.of_shared():
        return True
    if kind == "socket":
        return is_of_spark(which)
    assert isinstance(which, int)
    return any(name in command_of(which) for name in SESSION_LONG)


def is_of_spark(which: object) -> bool:
    """Return True for a connection to the JVM of this process: py4j opens one whenever a thread needs it, or when the
    garbage collector finds a Java object."""
    context = sys.modules.get("pyspark.core.context") or sys.modules.get("pyspark.context")
    gateway = getattr(getattr(context, "SparkContext", None), "_gateway", None)
    if gateway is None:
        return False
    return bool(peer_port(which) == gateway.gateway_parameters.port)


class FilesLeft:
    """Compares the checkout, at the end of a session; not in the processes of xdist, which share it."""

    def __init__(self, checkout: Path = CHECKOUT) -> None:
        self._checkout = checkout
        self._before = untracked(checkout)
        self._left: list[str] = []

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._left = sorted(untracked(self._checkout) - self._before)
        if self._left and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._left:
            terminalreporter.write_line(f"left behind in the checkout: {', '.join(self._left)}", red=True)


def untracked(checkout: Path) -> set[str]:
    """Return the files and folders that are not in git, without those of tools. Empty where there is no git."""
    command = ["git", "-C", str(checkout), "status", "--porcelain", "--ignored", "--untracked-files=normal"]
    try:
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return set()
    paths = {line[3:] for line in lines if line.startswith(("??", "!!"))}
    return {path for path in paths if not any(name in path for name in OF_TOOLS)}
