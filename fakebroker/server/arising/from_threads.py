"""State faults of a `FakeCluster`, for use from any thread."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from fakebroker.server.arising.in_hand import AsyncStateFault
from fakebroker.server.running.from_threads import FromThreads, awaited, called
from fakebroker.server.running.loop_thread import LoopThread


class StateFaultInHand(FromThreads[AsyncStateFault]):
    """A state fault of a `FakeCluster`: `AsyncStateFault`, for use from any thread."""

    def __init__(self, arisen: AsyncStateFault, thread: LoopThread) -> None:
        super().__init__(arisen, thread)
        self.id = arisen.id
        self.preset = arisen.preset

    @property
    def hits(self) -> int:
        """See `AsyncStateFault.hits`."""
        return self._served.hits

    @property
    def is_done(self) -> bool:
        """See `AsyncStateFault.is_done`."""
        return self._served.is_done

    @property
    def is_over(self) -> bool:
        """See `AsyncStateFault.is_over`."""
        return self._served.is_over

    wait = awaited(AsyncStateFault.wait)
    remove = called(AsyncStateFault.remove)
    heal = called(AsyncStateFault.heal)

    def to_json(self) -> dict[str, Any]:
        """See `AsyncStateFault.to_json`."""
        return self._served.to_json()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()

    def __repr__(self) -> str:
        return repr(self._served)
