"""The handling of fork(): the child has copies of all descriptors of its parent, and none of its threads.

Theory   The cluster goes on in the parent alone. In the child its ports would accept connections after the parent has
         closed them. A call would wait for a thread that does not exist. So each descriptor is replaced in the child by
         one of /dev/null, and users of the cluster get an error. The descriptors are not closed: their owners close
         them once more as garbage, when their numbers may belong to other files. An epoll instance is shared with the
         parent, so nothing is removed from it here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Protocol
from weakref import WeakSet

OF_ANOTHER_PROCESS = (
    "the cluster runs in the process that started it, and this is a child of that: hand `bootstrap_servers` to the "
    "child instead, or make a cluster of its own there"
)


class Runs(Protocol):
    """An object that runs in one process."""

    def after_fork(self) -> None:
        """Handle the fork, in the child."""

    def __hash__(self) -> int: ...


_running: WeakSet[Runs] = WeakSet()


def tell_of_fork(one: Runs) -> None:
    """Register an object: it is notified of forks as long as it exists."""
    _running.add(one)


def tell_no_more(one: Runs) -> None:
    _running.discard(one)


def leave_to_the_parent(descriptors: Iterable[int]) -> None:
    """Replace the descriptors in the child by /dev/null; they stay open in the parent alone."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for descriptor in descriptors:
        if descriptor >= 0:
            os.dup2(null, descriptor, inheritable=False)
    os.close(null)


def _after_fork() -> None:
    for one in list(_running):
        one.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
