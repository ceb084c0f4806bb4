"""The face that an object on the loop of a cluster has for other threads.

Theory   A face is made from the methods of the object itself, with their signatures and docstrings: `called` runs a
         function on the loop, `awaited` a coroutine, and both wait for the result.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from fakebroker.server.running.loop_thread import LoopThread

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
P = ParamSpec("P")
R = TypeVar("R")


class FromThreads(Generic[A_co]):
    """`served` lives on the loop of `thread`."""

    def __init__(self, served: A_co, thread: LoopThread) -> None:
        self._served = served
        self._thread = thread


def called(method: Callable[Concatenate[A, P], R]) -> Callable[Concatenate[FromThreads[A], P], R]:
    """Return the method for other threads. It raises RuntimeError if the cluster does not run."""

    @wraps(method)
    def call(self: FromThreads[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._thread.call(lambda: method(self._served, *args, **kwargs))

    return call


def awaited(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[FromThreads[A], P], R]:
    """Return the coroutine's blocking form for other threads. It raises RuntimeError if the cluster does not run."""

    @wraps(method)
    def wait(self: FromThreads[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._thread.wait_for(method(self._served, *args, **kwargs))

    return wait
