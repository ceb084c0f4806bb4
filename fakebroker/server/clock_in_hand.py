"""The broker's clock, for the user of a cluster: `kafka.clock.advance(30_000)`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from fakebroker.core.arguments import WHOLE_NUMBER, require
from fakebroker.server.driver import Driver
from fakebroker.server.running.from_threads import FromThreads, awaited
from fakebroker.server.running.loop_thread import LoopThread

T = TypeVar("T")

MAX_ADVANCE_MS = 366 * 24 * 3_600_000


class _DriverChanger(Protocol):
    def __call__(self, change: Callable[[Driver], Coroutine[Any, Any, T]], /) -> Coroutine[Any, Any, T]: ...


class AsyncClock:
    """The clock of an `AsyncFakeCluster`. `kind` is "real", "manual" or "auto" (clocks.py).

    Only a manual or an auto clock can be moved: `advance` and `advance_to_next_deadline` raise RuntimeError on the real
    one. While the cluster is not running, everything but `kind` raises RuntimeError.
    """

    def __init__(self, kind: str, driver: Callable[[], Driver], change: _DriverChanger) -> None:
        self.kind = kind
        self._driver = driver
        self._change = change

    @property
    def elapsed_ms(self) -> int:
        """Return how long the cluster has been running, on the broker's clock."""
        return self._driver().elapsed_ms

    @property
    def wall_ms(self) -> int:
        """Return the broker's wall time: milliseconds since 1970, as in records."""
        return self._driver().clock.reached().wall_ms

    async def advance(self, ms: int) -> None:
        """Advance the broker's clock by `ms` milliseconds, deadline by deadline. Requests that have arrived are handled
        first. When this returns, all responses are written; requests that clients send in reaction come after the whole
        step."""
        require(WHOLE_NUMBER, ms=ms)
        await self.advance_by(lambda: ms)

    async def advance_by(self, how_far: Callable[[], int]) -> int:
        """Advance by the result of `how_far`, which is called when the turn of this change comes. Return that
        result."""
        self._check_movable()

        async def advance(driver: Driver) -> int:
            ms = how_far()
            if not 0 <= ms <= MAX_ADVANCE_MS:
                raise ValueError(f"a clock is advanced by 0 to {MAX_ADVANCE_MS} ms, not {ms}")
            await driver.advance(ms)
            return ms

        return await self._change(advance)

    async def advance_to_next_deadline(self) -> int | None:
        """Advance to the next pending event: the deadline of a parked request, the end of a throttle, a record in
        flight to a follower, a step of a follower's script. Periodic work of the broker that is due on the way is done.
        Return the milliseconds that passed, or None (and no time passes) if nothing is pending."""
        self._check_movable()
        return await self._change(Driver.advance_to_next_deadline)

    def _check_movable(self) -> None:
        if not self._driver().clock.can_move:
            raise RuntimeError('the clock is real and cannot be moved: use clock="manual" or clock="auto"')


class ClockInHand(FromThreads[AsyncClock]):
    """The clock of a `FakeCluster`: `AsyncClock`, for use from other threads. Concurrent advances run one after the
    other."""

    def __init__(self, clock: AsyncClock, thread: LoopThread) -> None:
        super().__init__(clock, thread)
        self.kind = clock.kind

    @property
    def elapsed_ms(self) -> int:
        """See `AsyncClock.elapsed_ms`."""
        return self._thread.call(lambda: self._served.elapsed_ms)

    @property
    def wall_ms(self) -> int:
        """See `AsyncClock.wall_ms`."""
        return self._thread.call(lambda: self._served.wall_ms)

    advance = awaited(AsyncClock.advance)
    advance_to_next_deadline = awaited(AsyncClock.advance_to_next_deadline)
