"""The broker's clock in the user's hand: `kafka.clock.advance(30_000)`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from fakebroker.core.arguments import WHOLE_NUMBER, require
from fakebroker.server.driver import Driver

T = TypeVar("T")

MAX_ADVANCE_MS = 366 * 24 * 3_600_000


class _Change(Protocol):
    def __call__(self, change: Callable[[Driver], Coroutine[Any, Any, T]], /) -> Coroutine[Any, Any, T]: ...


class AsyncClock:
    """The clock of an `AsyncFakeCluster`. `kind` is "real", "manual" or "auto" (clocks.py).

    Only a manual or an auto clock can be moved: `advance` and `advance_to_next_deadline` raise RuntimeError on the real
    one, and all but `kind` while the cluster is not running.
    """

    def __init__(self, kind: str, driver: Callable[[], Driver], change: _Change) -> None:
        self.kind = kind
        self._driver = driver
        self._change = change

    @property
    def elapsed_ms(self) -> int:
        """How long the cluster has been running, by the broker's clock."""
        return self._driver().elapsed_ms

    @property
    def wall_ms(self) -> int:
        """What the broker takes for the time of day: milliseconds since 1970, as in records."""
        return self._driver().clock.reached().wall_ms

    async def advance(self, ms: int) -> None:
        """Let `ms` milliseconds pass for the broker, each deadline at its own time. What has arrived is handled
        before, and all that is answered is written when this returns. It is one step for the clients: what they send
        in reaction comes after it."""
        require(WHOLE_NUMBER, ms=ms)
        await self.advance_by(lambda: ms)

    async def advance_by(self, how_far: Callable[[], int]) -> int:
        """The same, as far as it turns out to be when its turn comes. Returns that."""
        self._check_movable()

        async def advance(driver: Driver) -> int:
            ms = how_far()
            if not 0 <= ms <= MAX_ADVANCE_MS:
                raise ValueError(f"a clock is advanced by 0 to {MAX_ADVANCE_MS} ms, not {ms}")
            await driver.advance(ms)
            return ms

        return await self._change(advance)

    async def advance_to_next_deadline(self) -> int | None:
        """Let time pass until the next thing that is pending: a request that waits, a connection that is throttled, a
        record on its way to a follower, a step of a follower's script. Returns how many milliseconds that was; None,
        and no time passes, if nothing is. What the broker does from time to time is done on the way."""
        self._check_movable()
        return await self._change(Driver.advance_to_next_deadline)

    def _check_movable(self) -> None:
        if not self._driver().clock.can_move:
            raise RuntimeError('the clock is the real one, which nobody moves: take clock="manual" or clock="auto"')


class _Call(Protocol):
    def __call__(self, function: Callable[[], T], /) -> T: ...


class _Await(Protocol):
    def __call__(self, coroutine: Coroutine[None, None, T], /) -> T: ...


class ClockInHand:
    """The clock of a `FakeCluster`: `AsyncClock`, from another thread. Those who advance it at the same time wait for
    each other."""

    def __init__(self, clock: AsyncClock, call: _Call, wait_for: _Await) -> None:
        self.kind = clock.kind
        self._clock = clock
        self._call = call
        self._await = wait_for

    @property
    def elapsed_ms(self) -> int:
        """`AsyncClock.elapsed_ms`."""
        return self._call(lambda: self._clock.elapsed_ms)

    @property
    def wall_ms(self) -> int:
        """`AsyncClock.wall_ms`."""
        return self._call(lambda: self._clock.wall_ms)

    def advance(self, ms: int) -> None:
        """`AsyncClock.advance`."""
        self._await(self._clock.advance(ms))

    def advance_to_next_deadline(self) -> int | None:
        """`AsyncClock.advance_to_next_deadline`."""
        return self._await(self._clock.advance_to_next_deadline())
