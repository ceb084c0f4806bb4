"""Work that runs after a coordinator's operation, such as matching patterns against all topic names.

Theory   A task has a key, which is unique among scheduled tasks. Its result is passed to an operation, which runs as a
         write operation of the same partition. In Kafka the task runs in another thread. Here it runs after the
         response to the present request, so the response does not depend on it in either. A long task runs in slices,
         and the coordinator handles requests in between.
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
        """Run the task soon, then the operation with its result. Return False, and do nothing, if the key is in use. If
        the task raises KafkaError, the operation does not run."""

    @abstractmethod
    def is_scheduled(self, key: str) -> bool: ...

    @abstractmethod
    def cancel(self, key: str) -> None:
        """Cancel the task and its operation."""
