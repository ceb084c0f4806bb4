"""The coordinators of one broker: one for each partition of an internal topic that the broker leads.

Theory   Operations on the state of a partition run one after the other (events.py). The response of a write operation
         is sent when its records are committed. A read operation sees committed state, and its response is sent at
         once. Timeouts, results of tasks and high watermarks are events too, so there is one order of all.
Units    milliseconds; partitions by their index.
Source   coordinator-common/.../common/runtime/CoordinatorRuntime.java @ 4.4 (read out of the released jars):
         scheduleWriteOperation, scheduleReadOperation, scheduleWriteAllOperation, scheduleReadAllOperation.
Differs  One thread: an operation that finds the queue empty runs before its call returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fakebroker.core.coordinator.context import CoordinatorContext
from fakebroker.core.coordinator.errors import unknown_server_error
from fakebroker.core.coordinator.lifecycle import CoordinatedPartitions, S
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.coordinator.write_event import WriteEvent
from fakebroker.core.transactions.markers import Producer, TxnMarker
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices

T = TypeVar("T")


class CoordinatorRuntime(CoordinatedPartitions[S]):
    """The coordinators of one broker for one topic."""

    def schedule_write_operation(
        self,
        name: str,
        index: int,
        operation: Callable[[S], CoordinatorResult[T]],
        then: Callable[[T | KafkaError], None],
    ) -> None:
        """Run the operation on the state of a partition, and write its records. Call `then` once: with the response
        when they are committed, or with the error. A timeout is also an error."""

        def work(context: CoordinatorContext[S], event: WriteEvent) -> None:
            assert context.shard is not None
            event.result = operation(context.shard)
            context.append(event)
            self._maybe_flush(index, context)

        self._schedule(name, index, work, then)

    def schedule_long_write_operation(
        self,
        name: str,
        index: int,
        operation: Callable[[S], Slices[CoordinatorResult[T]]],
        then: Callable[[T | KafkaError], None],
        producer: Producer | None = None,
    ) -> None:
        """Run a long write operation in slices. With a producer, its records belong to that producer's transaction. All
        its records are one append to the log."""

        def work(context: CoordinatorContext[S], event: WriteEvent) -> Slices[None]:
            assert context.shard is not None
            event.result = yield from operation(context.shard)
            if producer is not None:
                yield from context.append_in_transaction(event, producer)
                return
            yield from context.append_in_slices(event)
            self._maybe_flush(index, context)

        self._schedule_in_slices(name, index, work, then)

    def schedule_transaction_completion(
        self, name: str, index: int, txn_marker: TxnMarker, then: Callable[[KafkaError | None], None]
    ) -> None:
        """Write the transaction marker to a partition."""

        def work(context: CoordinatorContext[S], event: WriteEvent) -> Slices[None]:
            event.result = CoordinatorResult((), None)
            yield from context.complete_transaction(event, txn_marker)

        self._schedule_in_slices(name, index, work, then)

    def _schedule(
        self,
        name: str,
        index: int,
        work: Callable[[CoordinatorContext[S], WriteEvent], None],
        then: Callable[[Any], None],
    ) -> None:
        event = self._new_event(name, index, then)

        def execute() -> None:
            try:
                work(self._active(index), event)
            except KafkaError as error:
                event.complete(error.with_traceback(None))
            except Exception as bug:
                self._events.report(name, bug)
                event.complete(unknown_server_error())

        self._events.enqueue_last(execute)

    def _schedule_in_slices(
        self,
        name: str,
        index: int,
        work: Callable[[CoordinatorContext[S], WriteEvent], Slices[None]],
        then: Callable[[Any], None],
    ) -> None:
        event = self._new_event(name, index, then)

        def execute() -> Slices[None]:
            try:
                yield from work(self._active(index), event)
            except KafkaError as error:
                event.complete(error.with_traceback(None))
            except Exception as bug:
                self._events.report(name, bug)
                event.complete(unknown_server_error())

        self._events.enqueue_last(execute)

    def _new_event(self, name: str, index: int, then: Callable[[Any], None]) -> WriteEvent:
        return WriteEvent(name, self._write_timeout_ms(), then, self._events, lambda: self._look(index))

    def schedule_read_operation(
        self,
        name: str,
        index: int,
        operation: Callable[[S, int], T],
        then: Callable[[T | KafkaError], None],
    ) -> None:
        """Run the operation with the committed offset, as of which it may read. Call `then` with the result."""

        def execute() -> None:
            response: T | KafkaError
            try:
                context = self._active(index)
                assert context.shard is not None
                response = operation(context.shard, context.last_committed_offset)
            except KafkaError as error:
                response = error.with_traceback(None)
            except Exception as bug:
                self._events.report(name, bug)
                response = unknown_server_error()
            then(response)

        self._events.enqueue_last(execute)

    def schedule_long_read_operation(
        self,
        name: str,
        index: int,
        operation: Callable[[S, int], Slices[T]],
        then: Callable[[T | KafkaError], None],
    ) -> None:
        """Run a long read operation in slices; otherwise like `schedule_read_operation`."""

        def execute() -> Slices[None]:
            response: T | KafkaError
            try:
                context = self._active(index)
                assert context.shard is not None
                response = yield from operation(context.shard, context.last_committed_offset)
            except KafkaError as error:
                response = error.with_traceback(None)
            except Exception as bug:
                self._events.report(name, bug)
                response = unknown_server_error()
            then(response)

        self._events.enqueue_last(execute)

    def schedule_write_all_operation(
        self,
        name: str,
        operation: Callable[[S], CoordinatorResult[T]],
        then: Callable[[list[T | KafkaError]], None],
    ) -> None:
        """Run a write operation on all partitions of this coordinator. Call `then` once, with the list of results."""
        self._for_all(lambda index, on_result: self.schedule_write_operation(name, index, operation, on_result), then)

    def schedule_read_all_operation(
        self,
        name: str,
        operation: Callable[[S, int], T],
        then: Callable[[list[T | KafkaError]], None],
    ) -> None:
        self._for_all(lambda index, on_result: self.schedule_read_operation(name, index, operation, on_result), then)

    def _for_all(
        self,
        schedule: Callable[[int, Callable[[T | KafkaError], None]], None],
        then: Callable[[list[T | KafkaError]], None],
    ) -> None:
        indexes = list(self._partitions)
        responses: list[T | KafkaError] = []

        def collect(response: T | KafkaError) -> None:
            responses.append(response)
            if len(responses) == len(indexes):
                then(responses)

        for index in indexes:
            schedule(index, collect)
        if not indexes:
            then(responses)

    def run_write_operation(
        self, name: str, index: int, operation: Callable[[], CoordinatorResult[None]], then: Callable[[Any], None]
    ) -> None:
        self.schedule_write_operation(name, index, lambda _: operation(), then)
