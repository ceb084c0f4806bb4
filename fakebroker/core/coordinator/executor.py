"""Work that a coordinator's operation wants done after it, not within it: patterns looked up in all topic names.

Theory   Each task has a key, and there is one of a key. Its result is handed to an operation, which runs as a write
         operation of the same partition. In Kafka the task runs in another thread; here when what is under way has
         been answered, so what a client sees first is the same: an answer that knows nothing of it. A task that takes
         long is done in slices, and requests to its coordinator are answered in between.
Source   coordinator-common/.../common/runtime/{CoordinatorExecutor,CoordinatorExecutorImpl}.java @ 4.2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.protocol.slices import Slices

T = TypeVar("T")


class CoordinatorExecutor(ABC):
    """The tasks of one partition of an internal topic."""

    @abstractmethod
    def schedule(
        self, key: str, task: Callable[[], Slices[T]], operation: Callable[[T], CoordinatorResult[None]]
    ) -> bool:
        """Run the task soon, and then the operation with what it gave. False, and nothing happens, if there is one
        under this key. A KafkaError of the task ends it: the operation is not run."""

    @abstractmethod
    def is_scheduled(self, key: str) -> bool: ...

    @abstractmethod
    def cancel(self, key: str) -> None:
        """It does not run any more, nor does its operation."""
