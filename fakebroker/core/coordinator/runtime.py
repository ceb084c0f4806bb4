"""The coordinators of one broker: one for each partition of an internal topic that the broker leads.

Theory   Operations on the state of a partition run one after the other (events.py). The response of a write operation
         is sent when its records are committed. A read operation sees committed state, and its response is sent at
         once. Timeouts, results of tasks and high watermarks are events too, so there is one order of all. For one
         partition between its load and its unload, see lifecycle.py.
Units    milliseconds; partitions by their index.
Source   coordinator-common/.../common/runtime/CoordinatorRuntime.java @ 4.4 (read out of the released jars):
         scheduleWriteOperation, scheduleReadOperation, scheduleWriteAllOperation, scheduleReadAllOperation,
         scheduleLoadOperation, scheduleUnloadOperation, HighWatermarkListener.
Differs  One thread: an operation that finds the queue empty runs before its call returns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Generic, TypeVar, final

from fakebroker.core.clock import Now
from fakebroker.core.controller.topics import Topic
from fakebroker.core.coordinator.context import CoordinatorContext, CoordinatorState
from fakebroker.core.coordinator.errors import not_coordinator, unknown_server_error
from fakebroker.core.coordinator.events import EventQueue, Report
from fakebroker.core.coordinator.lifecycle import CoordinatedPartition, DelayedCall, NewShard, S
from fakebroker.core.coordinator.loading import Decode
from fakebroker.core.coordinator.partition_timers import PartitionExecutor, PartitionTimers
from fakebroker.core.coordinator.partition_writer import PartitionWriter
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.coordinator.write_event import WriteEvent
from fakebroker.core.in_turns import InTurns
from fakebroker.core.purgatory.deadlines import ClientDeadlines, TimerDeadlines
from fakebroker.core.transactions.markers import Producer, TxnMarker
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices
from timingwheel import TimerTask

T = TypeVar("T")


@final
class CoordinatorRuntime(Generic[S]):
    """The coordinators of one broker for one topic, by the index of the partition."""

    def __init__(
        self,
        new_shard: NewShard[S],
        writer: PartitionWriter,
        decode: Decode,
        deadlines: TimerDeadlines,
        client_deadlines: ClientDeadlines,
        watch: Callable[[int, WriteEvent], None],
        now: Callable[[], Now],
        write_timeout_ms: Callable[[], int],
        linger_ms: Callable[[], int],
        report: Report,
    ) -> None:
        """Store the services. `watch` lets an event wait for the high watermark of a partition, up to its timeout."""
        self._new_shard = new_shard
        self.writer = writer
        self._decode = decode
        self._deadlines = deadlines
        self._client_deadlines = client_deadlines
        self._watch = watch
        self._now = now
        self._write_timeout_ms = write_timeout_ms
        self._linger_ms = linger_ms
        self._events = EventQueue(report, self._soon)
        self.in_turns = InTurns(self._soon, report)
        self._partitions: dict[int, CoordinatedPartition[S]] = {}
        self._is_closed = False

    def context(self, index: int) -> CoordinatorContext[S] | None:
        """Return the context, for inspection only."""
        partition = self._partitions.get(index)
        return None if partition is None else partition.context

    # Elections, topic changes, and the stop of the broker.

    def schedule_load_operation(self, index: int, epoch: int) -> None:
        """Load the partition that this broker leads in this epoch."""

        def load() -> None:
            partition = self._partitions.get(index)
            if self._is_closed or (partition is not None and partition.context.epoch >= epoch):
                return
            if partition is not None and partition.context.state is not CoordinatorState.FAILED:
                partition.context.epoch = epoch  # it is loading already, or active
                return
            self._load(index, epoch)

        self._events.enqueue_last(load)

    def schedule_unload_operation(self, index: int, epoch: int | None) -> None:
        """Unload a partition that this broker no longer leads as of this epoch; None if the topic is deleted."""

        def unload() -> None:
            partition = self._partitions.get(index)
            if partition is not None and (epoch is None or partition.context.epoch < epoch):
                del self._partitions[index]
                partition.unload(CoordinatorState.CLOSED)

        self._events.enqueue_last(unload)

    def on_topics_changed(self, changed: Collection[str], deleted: Collection[Topic]) -> None:
        """Notify the active partitions. A partition that is loading reads the metadata afterwards."""

        def notify(index: int) -> None:
            partition = self._partitions.get(index)
            if partition is not None:
                partition.on_topics_changed(changed, deleted)

        for index in list(self._partitions):
            self._events.enqueue_last(partial(notify, index))

    def close(self) -> None:
        """Stop, with the broker: waiting operations get NOT_COORDINATOR, and later events do nothing."""
        self._is_closed = True
        self._events.abandon(not_coordinator())

        def close() -> None:
            partitions = list(self._partitions.values())
            self._partitions.clear()
            for partition in partitions:
                partition.unload(CoordinatorState.CLOSED)

        self._events.enqueue_last(close)

    # Operations.

    def schedule_write_operation(
        self,
        name: str,
        index: int,
        operation: Callable[[S], CoordinatorResult[T]],
        then: Callable[[T | KafkaError], None],
    ) -> None:
        """Run the operation on the state of a partition, and write its records. Call `then` once: with the response
        when they are committed, or with the error. A timeout is also an error."""

        def work(partition: CoordinatedPartition[S], event: WriteEvent) -> None:
            event.result = operation(partition.shard)
            partition.context.append(event)
            partition.maybe_flush()

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

        def work(partition: CoordinatedPartition[S], event: WriteEvent) -> Slices[None]:
            event.result = yield from operation(partition.shard)
            if producer is not None:
                yield from partition.context.append_in_transaction(event, producer)
                return
            yield from partition.context.append_in_slices(event)
            partition.maybe_flush()

        self._schedule_in_slices(name, index, work, then)

    def schedule_transaction_completion(
        self, name: str, index: int, txn_marker: TxnMarker, then: Callable[[KafkaError | None], None]
    ) -> None:
        """Write the transaction marker to a partition."""

        def work(partition: CoordinatedPartition[S], event: WriteEvent) -> Slices[None]:
            event.result = CoordinatorResult((), None)
            yield from partition.context.complete_transaction(event, txn_marker)

        self._schedule_in_slices(name, index, work, then)

    def _schedule(
        self,
        name: str,
        index: int,
        work: Callable[[CoordinatedPartition[S], WriteEvent], None],
        then: Callable[[Any], None],
    ) -> None:
        event = self._new_event(name, index, then)

        def execute() -> None:
            try:
                work(self._active(index), event)
            except Exception as error:
                event.complete(self._told_as(name, error))

        self._events.enqueue_last(execute)

    def _schedule_in_slices(
        self,
        name: str,
        index: int,
        work: Callable[[CoordinatedPartition[S], WriteEvent], Slices[None]],
        then: Callable[[Any], None],
    ) -> None:
        event = self._new_event(name, index, then)

        def execute() -> Slices[None]:
            try:
                yield from work(self._active(index), event)
            except Exception as error:
                event.complete(self._told_as(name, error))

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
                partition = self._active(index)
                response = operation(partition.shard, partition.context.last_committed_offset)
            except Exception as error:
                response = self._told_as(name, error)
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
                partition = self._active(index)
                response = yield from operation(partition.shard, partition.context.last_committed_offset)
            except Exception as error:
                response = self._told_as(name, error)
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

    # Inside.

    def _told_as(self, name: str, error: Exception) -> KafkaError:
        """Return the error for the response. An error other than Kafka's is a bug of ours, and is reported."""
        if isinstance(error, KafkaError):
            return error.with_traceback(None)
        self._events.report(name, error)
        return unknown_server_error()

    def _active(self, index: int) -> CoordinatedPartition[S]:
        """Return the active partition, updated to its high watermark."""
        partition = self._partitions.get(index)
        if partition is None or self._is_closed:
            raise not_coordinator()
        partition.ensure_active()
        return partition

    def _look(self, index: int) -> None:
        """Update the partition, as its high watermark may have moved."""

        def update() -> None:
            partition = self._partitions.get(index)
            if partition is not None:
                partition.update_high_watermark()

        if self._events.is_busy:
            self._events.enqueue_first(update)
        else:
            self._events.enqueue_last(update)

    def _load(self, index: int, epoch: int) -> None:
        partition = self._partitions[index] = self._new_partition(index, epoch)
        partition.load(self._new_shard, self._decode)

    def _new_partition(self, index: int, epoch: int) -> CoordinatedPartition[S]:
        def schedule_write(
            name: str, operation: Callable[[], CoordinatorResult[None]], then: Callable[[Any], None]
        ) -> None:
            self.schedule_write_operation(name, index, lambda _: operation(), then)

        return CoordinatedPartition(
            index,
            epoch,
            self.writer,
            self._events,
            self._now,
            self._linger_ms,
            self._wait,
            PartitionTimers(self._wait, self._client_deadlines, schedule_write),
            PartitionExecutor(self._events, self.in_turns, schedule_write),
            lambda event: self._watch(index, event),
            lambda latest_epoch: self._load(index, latest_epoch),
        )

    def _soon(self, call: Callable[[], None]) -> None:
        """Run the call after other work has had its turn."""
        self._wait(DelayedCall(0, call))

    def _wait(self, task: TimerTask) -> None:
        """Run a task after its delay."""
        self._deadlines.timer.add(task, self._now().mono_ms)
