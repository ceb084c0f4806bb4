"""Faults and barriers of a `FakeCluster`, for use from any thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self

from fakebroker.server.arising.from_threads import StateFaultInHand
from fakebroker.server.arising.in_hand import WAIT_S, AsyncStateFault
from fakebroker.server.faults_in_hand import AsyncFault, AsyncFaults
from fakebroker.server.running.from_threads import FromThreads, awaited, called
from fakebroker.server.running.loop_thread import LoopThread

P = ParamSpec("P")


class FaultInHand(FromThreads[AsyncFault]):
    """A fault of a `FakeCluster`: `AsyncFault`, for use from any thread."""

    def __init__(self, fault: AsyncFault, thread: LoopThread) -> None:
        super().__init__(fault, thread)
        self.id = fault.id
        self.fault = fault.fault

    @property
    def hits(self) -> int:
        """See `AsyncFault.hits`."""
        return self._served.hits

    @property
    def matches(self) -> int:
        """See `AsyncFault.matches`."""
        return self._served.matches

    @property
    def held(self) -> int:
        """See `AsyncFault.held`."""
        return self._served.held

    @property
    def problem(self) -> str | None:
        """See `AsyncFault.problem`."""
        return self._served.problem

    @property
    def is_installed(self) -> bool:
        """See `AsyncFault.is_installed`."""
        return self._served.is_installed

    wait = awaited(AsyncFault.wait)
    wait_held = awaited(AsyncFault.wait_held)
    release = called(AsyncFault.release)
    remove = called(AsyncFault.remove)

    def to_json(self) -> dict[str, Any]:
        """See `AsyncFault.to_json`."""
        return self._served.to_json()

    def __repr__(self) -> str:
        return repr(self._served)


_Handles = list[FaultInHand]
_Arisen = list[StateFaultInHand]


def _installing(
    method: Callable[Concatenate[AsyncFaults, P], AsyncFault],
) -> Callable[Concatenate[FaultsInHand, P], FaultInHand]:
    install = called(method)

    @wraps(method)
    def call(self: FaultsInHand, /, *args: P.args, **kwargs: P.kwargs) -> FaultInHand:
        return FaultInHand(install(self, *args, **kwargs), self._thread)

    return call


def _arising(
    method: Callable[Concatenate[AsyncFaults, P], AsyncStateFault],
) -> Callable[Concatenate[FaultsInHand, P], StateFaultInHand]:
    arise = called(method)

    @wraps(method)
    def call(self: FaultsInHand, /, *args: P.args, **kwargs: P.kwargs) -> StateFaultInHand:
        return StateFaultInHand(arise(self, *args, **kwargs), self._thread)

    return call


class FaultsInHand(FromThreads[AsyncFaults]):
    """The faults of a `FakeCluster`: `AsyncFaults`, for use from any thread."""

    add = _installing(AsyncFaults.add)
    get = _installing(AsyncFaults.get)
    clear = called(AsyncFaults.clear)

    arise = _arising(AsyncFaults.arise)
    partition = _arising(AsyncFaults.partition)
    gc_pause = _arising(AsyncFaults.gc_pause)
    full_disk = _arising(AsyncFaults.full_disk)
    slow_disk = _arising(AsyncFaults.slow_disk)
    unclean_shutdown = _arising(AsyncFaults.unclean_shutdown)
    rolling_restart = _arising(AsyncFaults.rolling_restart)

    def list(self) -> _Handles:
        """See `AsyncFaults.list`."""
        return [FaultInHand(fault, self._thread) for fault in self._thread.call_or_do(self._served.list)]

    def unfired(self) -> _Handles:
        """See `AsyncFaults.unfired`."""
        return [FaultInHand(fault, self._thread) for fault in self._thread.call_or_do(self._served.unfired)]

    def arisen(self) -> _Arisen:
        """See `AsyncFaults.arisen`."""
        return [StateFaultInHand(arisen, self._thread) for arisen in self._thread.call(self._served.arisen)]

    def __iter__(self) -> Iterator[FaultInHand]:
        return iter(self.list())

    def __len__(self) -> int:
        return len(self.list())


class RequestBarrier:
    """A barrier of a `FakeCluster`, for use from any thread: `with kafka.hold(api="Produce", n=3) as held:
    held.wait()`."""

    def __init__(self, fault: FaultInHand, n: int) -> None:
        self.fault = fault
        self._n = n

    @property
    def count(self) -> int:
        """Return how many requests it holds now."""
        return self.fault.held

    def wait(self, n: int | None = None, timeout: float | None = WAIT_S) -> int:
        """See `AsyncRequestBarrier.wait`."""
        return self.fault.wait_held(self._n if n is None else n, timeout)

    def release(self, count: int | None = None) -> int:
        """See `AsyncRequestBarrier.release`."""
        return self.fault.release(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.fault.remove()
