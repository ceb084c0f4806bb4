"""The partitions of an internal topic that one broker coordinates: loaded on its election, unloaded when it resigns.

Units    milliseconds; partitions by their index.
Source   coordinator-common/.../common/runtime/CoordinatorRuntime.java @ 4.4 (read out of the released jars):
         scheduleLoadOperation, scheduleUnloadOperation, HighWatermarkListener, transitionTo, maybeAllocateNewBatch.
Differs  One thread. With group.coordinator.append.linger.ms=-1 Kafka flushes a batch when the queue is empty. So does
         this class; since the queue is mostly empty, most batches have one operation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Generic, TypeVar

from fakebroker.core.clock import Now
from fakebroker.core.controller.topics import Topic
from fakebroker.core.coordinator.context import CoordinatorContext, CoordinatorState
from fakebroker.core.coordinator.errors import coordinator_load_in_progress, not_coordinator
from fakebroker.core.coordinator.events import EventQueue, Report
from fakebroker.core.coordinator.executor import CoordinatorExecutor
from fakebroker.core.coordinator.loading import Decode, load
from fakebroker.core.coordinator.partition_timers import PartitionExecutor, PartitionTimers
from fakebroker.core.coordinator.partition_writer import PartitionWriter
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.coordinator.shard import CoordinatorShard
from fakebroker.core.coordinator.timeline import SnapshotRegistry
from fakebroker.core.coordinator.timer import CoordinatorTimer
from fakebroker.core.coordinator.write_event import WriteEvent
from fakebroker.core.in_turns import InTurns
from fakebroker.core.purgatory.deadlines import ClientDeadlines, TimerDeadlines
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices
from timingwheel import TimerTask

S = TypeVar("S", bound=CoordinatorShard)

NewShard = Callable[[int, SnapshotRegistry, CoordinatorTimer, CoordinatorExecutor], S]


class _PartitionTask(TimerTask):
    __slots__ = ("_call",)

    def __init__(self, delay_ms: int, call: Callable[[], None]) -> None:
        super().__init__(delay_ms)
        self._call = call

    def run(self) -> None:
        self._call()


class _Partition(Generic[S]):
    """A context with its timers, its tasks and its linger timer."""

    __slots__ = ("context", "executor", "linger", "timers")

    def __init__(self, context: CoordinatorContext[S], timers: PartitionTimers, executor: PartitionExecutor) -> None:
        self.context = context
        self.timers = timers
        self.executor = executor
        self.linger: _PartitionTask | None = None


class CoordinatedPartitions(Generic[S]):
    """The partitions at this coordinator, by index. Subclasses run operations on them."""

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
        self._partitions: dict[int, _Partition[S]] = {}
        self._is_closed = False

    def context(self, index: int) -> CoordinatorContext[S] | None:
        """Return the context, for inspection only."""
        partition = self._partitions.get(index)
        return None if partition is None else partition.context

    # Elections, topic changes, and the stop of the broker.

    def schedule_load_operation(self, index: int, epoch: int) -> None:
        """Load the partition that this broker leads in this epoch."""
        self._events.enqueue_last(lambda: self._load(index, epoch))

    def schedule_unload_operation(self, index: int, epoch: int | None) -> None:
        """Unload a partition that this broker no longer leads as of this epoch; None if the topic is deleted."""

        def unload() -> None:
            partition = self._partitions.get(index)
            if partition is not None and (epoch is None or partition.context.epoch < epoch):
                del self._partitions[index]
                self._unload(partition, CoordinatorState.CLOSED)

        self._events.enqueue_last(unload)

    def on_topics_changed(self, changed: Collection[str], deleted: Collection[Topic]) -> None:
        """Notify the active partitions. A partition that is loading reads the metadata afterwards."""
        for index in list(self._partitions):
            self._events.enqueue_last(partial(self._tell_of_topics, index, changed, deleted))

    def _tell_of_topics(self, index: int, changed: Collection[str], deleted: Collection[Topic]) -> None:
        partition = self._partitions.get(index)
        if partition is not None and partition.context.state is CoordinatorState.ACTIVE:
            assert partition.context.shard is not None
            partition.context.shard.on_topics_changed(changed, deleted)

    def close(self) -> None:
        """Stop, with the broker: waiting operations get NOT_COORDINATOR, and later events do nothing."""
        self._is_closed = True
        self._events.abandon(not_coordinator())

        def close() -> None:
            partitions = list(self._partitions.values())
            self._partitions.clear()
            for partition in partitions:
                self._unload(partition, CoordinatorState.CLOSED)

        self._events.enqueue_last(close)

    def run_write_operation(
        self, name: str, index: int, operation: Callable[[], CoordinatorResult[None]], then: Callable[[Any], None]
    ) -> None:
        """Run the write operation of a timer or task. The operation needs no shard argument."""
        raise NotImplementedError

    # Inside.

    def _active(self, index: int) -> CoordinatorContext[S]:
        """Return the active context, updated to its high watermark."""
        partition = self._partitions.get(index)
        if partition is None or self._is_closed:
            raise not_coordinator()
        context = partition.context
        if context.state is CoordinatorState.LOADING:
            raise coordinator_load_in_progress()
        if context.state is not CoordinatorState.ACTIVE:
            raise not_coordinator()
        self._update_high_watermark(index)
        return context

    def _look(self, index: int) -> None:
        """Update the context, as the high watermark of its partition may have moved."""
        if self._events.is_busy:
            self._events.enqueue_first(lambda: self._update_high_watermark(index))
        else:
            self._events.enqueue_last(lambda: self._update_high_watermark(index))

    def _update_high_watermark(self, index: int) -> None:
        partition = self._partitions.get(index)
        if partition is None:
            return
        try:
            high_watermark = self.writer.partition(index).high_watermark
        except KafkaError:
            return  # it no longer leads the partition; the unload follows
        if high_watermark > partition.context.last_committed_offset:
            partition.context.on_high_watermark_updated(high_watermark)

    def _load(self, index: int, epoch: int) -> None:
        partition = self._partitions.get(index)
        if self._is_closed or (partition is not None and partition.context.epoch >= epoch):
            return
        if partition is not None and partition.context.state is not CoordinatorState.FAILED:
            partition.context.epoch = epoch  # it is loading already, or active
            return
        self._begin_loading(index, epoch)

    def _begin_loading(self, index: int, epoch: int) -> None:
        partition = self._new_partition(index)
        context = partition.context
        context.epoch = epoch
        self._partitions[index] = partition
        context.shard = self._new_shard(index, context.registry, partition.timers, partition.executor)
        try:
            log = self.writer.partition(index).leader_log
        except KafkaError:
            self._unload(partition, CoordinatorState.FAILED)
            return
        self._go_on_loading(index, partition, load(context, log, self._decode))

    def _go_on_loading(self, index: int, partition: _Partition[S], slices: Slices[None]) -> None:
        if self._partitions.get(index) is not partition or partition.context.state is not CoordinatorState.LOADING:
            return
        try:
            self.writer.partition(index)
            next(slices)
        except StopIteration:
            partition.context.state = CoordinatorState.ACTIVE
            assert partition.context.shard is not None
            partition.context.shard.on_loaded()
        except Exception as error:
            self._unload(partition, CoordinatorState.FAILED)
            if not isinstance(error, KafkaError):
                self._events.report(f"loading partition {index}", error)
        else:
            self._soon(lambda: self._events.enqueue_last(lambda: self._go_on_loading(index, partition, slices)))

    def _soon(self, call: Callable[[], None]) -> None:
        """Run the call after other work has had its turn."""
        self._wait(_PartitionTask(0, call))

    def _wait(self, task: TimerTask) -> None:
        """Run a task after its delay."""
        self._deadlines.timer.add(task, self._now().mono_ms)

    def _new_partition(self, index: int) -> _Partition[S]:
        def schedule_write(
            name: str, operation: Callable[[], CoordinatorResult[None]], then: Callable[[Any], None]
        ) -> None:
            self.run_write_operation(name, index, operation, then)

        def on_batch() -> None:
            self._on_batch(index, partition)

        def reload() -> None:
            self._unload(partition, CoordinatorState.FAILED)
            self._begin_loading(index, context.epoch)

        context: CoordinatorContext[S] = CoordinatorContext(
            index,
            self.writer,
            self._events,
            self._now,
            lambda event: self._watch(index, event),
            on_batch,
            reload,
        )
        timers = PartitionTimers(self._wait, self._client_deadlines, schedule_write)
        partition = _Partition(context, timers, PartitionExecutor(self._events, self.in_turns, schedule_write))
        return partition

    def _unload(self, partition: _Partition[S], state: CoordinatorState) -> None:
        partition.timers.cancel_all()
        partition.executor.cancel_all()
        if partition.linger is not None:
            partition.linger.cancel()
            partition.linger = None
        partition.context.unload(state)

    # Batches.

    def _on_batch(self, index: int, partition: _Partition[S]) -> None:
        linger_ms = self._linger_ms()
        if linger_ms < 0:
            self._events.enqueue_last(lambda: self._flush(index, partition))
        elif linger_ms > 0:
            if partition.linger is not None:
                partition.linger.cancel()
            partition.linger = _PartitionTask(
                linger_ms, lambda: self._events.enqueue_first(lambda: self._flush(index, partition))
            )
            self._wait(partition.linger)

    def _maybe_flush(self, index: int, context: CoordinatorContext[S]) -> None:
        begun_ms, linger_ms = context.batch_begun_ms, self._linger_ms()
        if begun_ms is not None and 0 <= linger_ms <= self._now().mono_ms - begun_ms:
            self._flush(index, self._partitions[index])

    def _flush(self, index: int, partition: _Partition[S]) -> None:
        if partition.linger is not None:
            partition.linger.cancel()
            partition.linger = None
        if self._partitions.get(index) is partition and partition.context.state is CoordinatorState.ACTIVE:
            try:
                partition.context.flush()
            except KafkaError:
                return  # the operations have the error already
