"""Timers of a coordinator's state: session timeouts, rebalance timeouts. Each has a key, and there is one of a key.

Theory   A timer's operation is a write operation of the partition to which the timer belongs: what it comes to is
         written like anything else. The timers of a partition go when its leader goes.
Units    milliseconds of the monotonic clock.
Source   coordinator-common/.../common/runtime/CoordinatorTimer.java @ 4.0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

from fakebroker.core.coordinator.result import CoordinatorResult

RETRY_BACKOFF_MS: Final = 500

TimeoutOperation = Callable[[], CoordinatorResult[None]]


class CoordinatorTimer(ABC):
    """The timers of one partition of an internal topic."""

    @abstractmethod
    def schedule(
        self,
        key: str,
        delay_ms: int,
        operation: TimeoutOperation,
        *,
        retry: bool = True,
        retry_backoff_ms: int = RETRY_BACKOFF_MS,
        is_awaited: bool = False,
    ) -> None:
        """Run the operation in so long; one that is scheduled under this key is replaced. If it fails (the
        records could not be written) and `retry` holds, it runs again after the backoff.

        `is_awaited`: a client waits for it, as members do for the end of the first rebalance, so a skip of the clock
        brings it nearer. Otherwise it is what a client has to do in time, as its next heartbeat, and a skip moves it
        along."""

    @abstractmethod
    def schedule_if_absent(
        self,
        key: str,
        delay_ms: int,
        operation: TimeoutOperation,
        *,
        retry: bool = True,
        is_awaited: bool = False,
    ) -> None:
        """The same unless one is scheduled under this key."""

    @abstractmethod
    def cancel(self, key: str) -> None:
        """It does not run any more; nothing happens if there is none."""

    @abstractmethod
    def is_scheduled(self, key: str) -> bool: ...
