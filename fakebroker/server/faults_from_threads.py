"""Faults and barriers of a `FakeCluster`, for use from any thread."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from fakebroker.core.faults.fault import Fault
from fakebroker.server.arising.from_threads import Await, Call, Presets
from fakebroker.server.arising.in_hand import WAIT_S
from fakebroker.server.faults_in_hand import AsyncFault, AsyncFaults, Often, Said


class FaultInHand:
    """A fault of a `FakeCluster`: `AsyncFault`, for use from any thread."""

    def __init__(self, fault: AsyncFault, call: Call, wait_for: Await) -> None:
        self._fault = fault
        self._call = call
        self._await = wait_for
        self.id = fault.id
        self.fault = fault.fault

    @property
    def hits(self) -> int:
        """See `AsyncFault.hits`."""
        return self._fault.hits

    @property
    def matches(self) -> int:
        """See `AsyncFault.matches`."""
        return self._fault.matches

    @property
    def held(self) -> int:
        """See `AsyncFault.held`."""
        return self._fault.held

    @property
    def is_installed(self) -> bool:
        """See `AsyncFault.is_installed`."""
        return self._fault.is_installed

    def wait(self, n: int = 1, timeout: float | None = WAIT_S) -> int:
        """See `AsyncFault.wait`."""
        return self._await(self._fault.wait(n, timeout))

    def wait_held(self, n: int = 1, timeout: float | None = WAIT_S) -> int:
        """See `AsyncFault.wait_held`."""
        return self._await(self._fault.wait_held(n, timeout))

    def release(self, count: int | None = None) -> int:
        """See `AsyncFault.release`."""
        return self._call(lambda: self._fault.release(count))

    def remove(self) -> None:
        """See `AsyncFault.remove`."""
        self._call(self._fault.remove)

    def to_json(self) -> dict[str, Any]:
        """See `AsyncFault.to_json`."""
        return self._fault.to_json()

    def __repr__(self) -> str:
        return repr(self._fault)


_Handles = list[FaultInHand]


class FaultsInHand(Presets):
    """The faults of a `FakeCluster`: `AsyncFaults`, for use from any thread."""

    def __init__(self, faults: AsyncFaults, call: Call, wait_for: Await, call_or_do: Call) -> None:
        super().__init__(faults, call, wait_for)
        self._faults = faults
        self._call_or_do = call_or_do

    def _of(self, fault: AsyncFault) -> FaultInHand:
        return FaultInHand(fault, self._call, self._await)

    def add(
        self,
        fault: Fault | None = None,
        *,
        when: Said = None,
        do: Any = None,
        times: Often = None,
        force: bool = False,
    ) -> FaultInHand:
        """See `AsyncFaults.add`."""
        return self._of(self._call(lambda: self._faults.add(fault, when=when, do=do, times=times, force=force)))

    def get(self, name: str) -> FaultInHand:
        """See `AsyncFaults.get`."""
        return self._of(self._call(lambda: self._faults.get(name)))

    def list(self) -> _Handles:
        """See `AsyncFaults.list`."""
        return [self._of(fault) for fault in self._call_or_do(self._faults.list)]

    def unfired(self) -> _Handles:
        """See `AsyncFaults.unfired`."""
        return [self._of(fault) for fault in self._call_or_do(self._faults.unfired)]

    def clear(self) -> None:
        """See `AsyncFaults.clear`."""
        self._call(self._faults.clear)

    def __iter__(self) -> Iterator[FaultInHand]:
        return iter(self.list())

    def __len__(self) -> int:
        return len(self.list())


class Held:
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
        """See `AsyncHeld.wait`."""
        return self.fault.wait_held(self._n if n is None else n, timeout)

    def release(self, count: int | None = None) -> int:
        """See `AsyncHeld.release`."""
        return self.fault.release(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.fault.remove()
