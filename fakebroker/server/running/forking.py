"""A child process that fork() made has copies of what its parent had open, and none of its threads.

Theory   A cluster goes on in the parent alone. In the child its ports would stay connectable after the parent has
         closed them, and a call would wait for a thread that is not there. So there each of its descriptors is made
         one of /dev/null, and who uses the cluster is told. They are not closed: what has their numbers will close
         them once more when it is garbage, and by then they may be somebody else's. An epoll instance is shared with
         the parent, which is why nothing is taken out of it here.
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
    """What runs in one process."""

    def after_fork(self) -> None:
        """This is the child."""

    def __hash__(self) -> int: ...


_running: WeakSet[Runs] = WeakSet()


def tell_of_fork(one: Runs) -> None:
    """Have it told, from now on, as long as it is there."""
    _running.add(one)


def tell_no_more(one: Runs) -> None:
    _running.discard(one)


def leave_to_the_parent(descriptors: Iterable[int]) -> None:
    """In the child: they are open in the parent alone. Nothing else of them changes."""
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
