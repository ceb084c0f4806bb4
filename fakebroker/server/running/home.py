"""The home of an `AsyncFakeCluster`: one event loop, in one process. Calls from elsewhere raise an error."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable

from fakebroker.server.running.forking import OF_ANOTHER_PROCESS, leave_to_the_parent, tell_no_more, tell_of_fork

_OTHER_THREAD = (
    "an AsyncFakeCluster is used in the thread of its event loop alone: take FakeCluster, which any thread may use, or "
    "loop.call_soon_threadsafe()"
)
_OTHER_LOOP = (
    "the cluster was started on another event loop: use it there (with pytest-asyncio: give the fixture and the test "
    "the same loop_scope), or take FakeCluster"
)
_CLOSED_LOOP = (
    "the event loop of the cluster is closed, and the cluster with it: call `await stop()` before the loop ends, and "
    "start() on the loop where it is used"
)


class Home:
    """The loop and process of a cluster. `descriptors` returns its open descriptors, for the case of a fork."""

    def __init__(self, descriptors: Callable[[], Iterable[int]]) -> None:
        self._descriptors = descriptors
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._is_inherited = False

    def enter(self) -> None:
        """Set the running loop as the home."""
        self.check_process()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        tell_of_fork(self)

    def leave(self) -> None:
        """Clear the home."""
        self._loop = None
        tell_no_more(self)

    def check(self) -> None:
        """Raise RuntimeError in another loop, thread or process."""
        self.check_is_there()
        loop = self._loop
        if loop is None:
            return
        try:
            running: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is loop:
            return
        if running is not None:
            raise RuntimeError(_OTHER_LOOP)
        if threading.get_ident() != self._thread:
            raise RuntimeError(_OTHER_THREAD)

    def check_is_there(self) -> None:
        """Raise RuntimeError if the loop has been closed, or in another process: the check for read-only access."""
        self.check_process()
        if self.is_gone:
            raise RuntimeError(_CLOSED_LOOP)

    @property
    def is_gone(self) -> bool:
        """Return True if the loop was closed while the cluster was running on it."""
        return self._loop is not None and self._loop.is_closed()

    @property
    def is_inherited(self) -> bool:
        """Return True in a child of the process where the cluster runs."""
        return self._is_inherited

    def check_process(self) -> None:
        """Raise RuntimeError in a child of the process where it runs."""
        if self._is_inherited:
            raise RuntimeError(OF_ANOTHER_PROCESS)

    def after_fork(self) -> None:
        self._is_inherited = True
        leave_to_the_parent(self._descriptors())
