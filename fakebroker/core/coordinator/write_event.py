"""A write operation from its call to its response.

Theory   A write operation completes exactly once: when its records are committed, when that failed, when the leader
         changes, or at its timeout. After a timeout its records stay in the log. It waits in the produce purgatory for
         the high watermark of a partition, as a Produce request with acks=-1 does. An operation that need not wait
         costs nothing there.
Units    milliseconds.
Source   coordinator-common/.../common/runtime/CoordinatorRuntime.java CoordinatorWriteEvent, OperationTimeout @ 4.4
         (read out of the released jars).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakebroker.core.coordinator.events import EventQueue
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.purgatory.delayed_operation import DelayedOperation
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

Then = Callable[[Any], None]  # gets the response, or a KafkaError


class WriteEvent(DelayedOperation):
    """A write operation. `look` updates the coordinator to the high watermark, which may complete the operation."""

    __slots__ = ("_error", "_events", "_look", "_name", "_then", "result")

    def __init__(self, name: str, timeout_ms: int, then: Then, events: EventQueue, look: Callable[[], None]) -> None:
        super().__init__(timeout_ms)
        self.result: CoordinatorResult[Any] | None = None
        self._name = name
        self._then = then
        self._events = events
        self._look = look
        self._error: KafkaError | None = None

    def complete(self, error: KafkaError | None) -> None:
        """Complete the operation, unless that has happened."""
        if not self.is_completed():
            self._error = error
            self.force_complete()

    def try_complete(self) -> bool:
        self._look()
        return self.is_completed()

    def on_complete(self) -> None:
        if self.has_expired:
            self._error = KafkaError(
                ErrorCode.request_timed_out,
                f"CoordinatorWriteEvent(name={self._name}) timed out after {self.delay_ms}ms",
            )
        self._events.run_within(self._tell)

    def on_expiration(self) -> None:
        pass

    def _tell(self) -> None:
        result, error = self.result, self._error
        self.result = None  # a completed operation stays on watch lists until they are visited
        if result is not None and result.on_complete is not None:
            try:
                result.on_complete(error)
            except Exception as bug:
                self._events.report(self._name, bug)
        if error is not None:
            self._then(error)
        else:
            assert result is not None
            self._then(result.response)
