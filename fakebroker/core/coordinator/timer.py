"""Timers of a coordinator's state, such as session timeouts and rebalance timeouts. A key has one timer at most.

Theory   The operation of a timer is a write operation of the timer's partition, and its records are written like all
         others. The timers of a partition end when its leader changes.
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
        """Run the operation after the delay. It replaces the timer that is scheduled under this key. If its records
        cannot be written and `retry` holds, it runs again after the backoff.

        `is_awaited`: clients wait for the operation, as members do for the end of the first rebalance. A skip of the
        clock brings it nearer. Otherwise the delay is a limit for a client, as for its next heartbeat. A skip moves
        that limit along, so the client keeps all of its time."""

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
        """Schedule the operation, unless the key has a timer."""

    @abstractmethod
    def cancel(self, key: str) -> None:
        """Cancel the timer, if there is one."""

    @abstractmethod
    def is_scheduled(self, key: str) -> bool: ...
