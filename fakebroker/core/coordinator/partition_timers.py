"""The timers and tasks of one partition. They run write operations.

Units    milliseconds of the monotonic clock.
Source   coordinator-common/.../common/runtime/{CoordinatorTimerImpl,CoordinatorExecutorImpl}.java @ 4.4 (read out of
         the released jars).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fakebroker.core.coordinator.events import EventQueue
from fakebroker.core.coordinator.executor import CoordinatorExecutor
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.coordinator.timer import RETRY_BACKOFF_MS, CoordinatorTimer, TimeoutOperation
from fakebroker.core.in_turns import InTurns
from fakebroker.core.purgatory.deadlines import ClientDeadlines
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices
from timingwheel import TimerTask

T = TypeVar("T")

# Runs an operation without a shard argument as a write operation of the partition. The last argument gets the result.
ScheduleWrite = Callable[[str, Callable[[], CoordinatorResult[None]], Callable[[Any], None]], None]

_NOT_ACTIVE = (ErrorCode.not_coordinator, ErrorCode.coordinator_load_in_progress)


class _OverriddenError(KafkaError):
    """The timer or task was cancelled or replaced while its operation waited in the queue."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.unknown_server_error, "overridden or cancelled")


class _Task(TimerTask):
    __slots__ = ("_timers", "is_awaited", "key", "operation", "retry_backoff_ms")

    def __init__(
        self,
        timers: PartitionTimers,
        key: str,
        delay_ms: int,
        operation: TimeoutOperation,
        retry_backoff_ms: int | None,
        is_awaited: bool,
    ) -> None:
        super().__init__(delay_ms)
        self._timers = timers
        self.key = key
        self.operation = operation
        self.retry_backoff_ms = retry_backoff_ms
        self.is_awaited = is_awaited

    def run(self) -> None:
        self._timers._run(self)


class PartitionTimers(CoordinatorTimer):
    """The timers of one partition. `wait` runs a task that clients wait for after its delay. `deadlines` holds the
    limits for clients, such as session timeouts."""

    def __init__(
        self, wait: Callable[[TimerTask], None], deadlines: ClientDeadlines, schedule_write: ScheduleWrite
    ) -> None:
        self._wait = wait
        self._deadlines = deadlines
        self._schedule_write = schedule_write
        self._tasks: dict[str, _Task] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def __bool__(self) -> bool:
        return len(self) > 0

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
        self.cancel(key)
        task = _Task(self, key, delay_ms, operation, retry_backoff_ms if retry else None, is_awaited)
        self._tasks[key] = task
        if delay_ms <= 0:
            # An elapsed timer is queued at once, ahead of any later request, as in Kafka.
            self._run(task)
        elif is_awaited:
            self._wait(task)
        else:
            self._deadlines.add(task)

    def schedule_if_absent(
        self,
        key: str,
        delay_ms: int,
        operation: TimeoutOperation,
        *,
        retry: bool = True,
        is_awaited: bool = False,
    ) -> None:
        if key not in self._tasks:
            self.schedule(key, delay_ms, operation, retry=retry, is_awaited=is_awaited)

    def cancel(self, key: str) -> None:
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()

    def is_scheduled(self, key: str) -> bool:
        return key in self._tasks

    def cancel_all(self) -> None:
        for key in list(self._tasks):
            self.cancel(key)

    def _run(self, task: _Task) -> None:
        def operation() -> CoordinatorResult[None]:
            if self._tasks.get(task.key) is not task:
                raise _OverriddenError
            del self._tasks[task.key]
            return task.operation()

        def then(response: object) -> None:
            if (
                isinstance(response, KafkaError)
                and not isinstance(response, _OverriddenError)
                and response.code not in _NOT_ACTIVE
                and task.retry_backoff_ms is not None
            ):
                self.schedule(
                    task.key,
                    task.retry_backoff_ms,
                    task.operation,
                    retry_backoff_ms=task.retry_backoff_ms,
                    is_awaited=task.is_awaited,
                )

        self._schedule_write(f"Timeout(key={task.key})", operation, then)


class PartitionExecutor(CoordinatorExecutor):
    """The tasks of one partition. They begin after the queued events of the broker's coordinators, and run between
    later ones."""

    def __init__(self, events: EventQueue, in_turns: InTurns, schedule_write: ScheduleWrite) -> None:
        self._events = events
        self._in_turns = in_turns
        self._schedule_write = schedule_write
        self._tasks: dict[str, object] = {}

    def schedule(
        self, key: str, task: Callable[[], Slices[T]], operation: Callable[[T], CoordinatorResult[None]]
    ) -> bool:
        if key in self._tasks:
            return False
        token = self._tasks[key] = object()

        def run() -> Slices[None]:
            slices = task()
            while True:
                if self._tasks.get(key) is not token:
                    return
                try:
                    next(slices)
                except StopIteration as end:
                    computed: T = end.value
                    break
                except KafkaError:
                    del self._tasks[key]
                    return
                yield

            def write() -> CoordinatorResult[None]:
                if self._tasks.get(key) is not token:
                    raise _OverriddenError
                del self._tasks[key]
                return operation(computed)

            self._schedule_write(f"ExecutorEvent(key={key})", write, lambda _: None)

        self._events.enqueue_last(lambda: self._in_turns.go_on("a task of a coordinator", run()))
        return True

    def is_scheduled(self, key: str) -> bool:
        return key in self._tasks

    def cancel(self, key: str) -> None:
        self._tasks.pop(key, None)

    def cancel_all(self) -> None:
        self._tasks.clear()
