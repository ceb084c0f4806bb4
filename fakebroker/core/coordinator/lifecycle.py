"""A partition of an internal topic at its coordinator, from one load to its unload, with its timers, tasks and batches.

Theory   A partition is loaded when this broker is elected, and unloaded when it resigns. A partition that was unloaded
         is never used again: the next load begins with another one.
Units    milliseconds.
Source   coordinator-common/.../common/runtime/CoordinatorRuntime.java @ 4.4 (read out of the released jars):
         withActiveContext; CoordinatorContext transitionTo, load, unload, maybeAllocateNewBatch,
         maybeFlushCurrentBatch.
Differs  One thread. With group.coordinator.append.linger.ms=-1 Kafka flushes a batch when the queue is empty. So does
         this class; since the queue is mostly empty, most batches have one operation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Generic, TypeVar, final

from fakebroker.core.clock import Now
from fakebroker.core.controller.topics import Topic
from fakebroker.core.coordinator.context import CoordinatorContext, CoordinatorState
from fakebroker.core.coordinator.errors import coordinator_load_in_progress, not_coordinator
from fakebroker.core.coordinator.events import EventQueue
from fakebroker.core.coordinator.executor import CoordinatorExecutor
from fakebroker.core.coordinator.loading import Decode, load
from fakebroker.core.coordinator.partition_timers import PartitionExecutor, PartitionTimers
from fakebroker.core.coordinator.partition_writer import PartitionWriter
from fakebroker.core.coordinator.shard import CoordinatorShard
from fakebroker.core.coordinator.timeline import SnapshotRegistry
from fakebroker.core.coordinator.timer import CoordinatorTimer
from fakebroker.core.coordinator.write_event import WriteEvent
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices
from timingwheel import TimerTask

S = TypeVar("S", bound=CoordinatorShard)

NewShard = Callable[[int, SnapshotRegistry, CoordinatorTimer, CoordinatorExecutor], S]


@final
class DelayedCall(TimerTask):
    """A call after a delay."""

    __slots__ = ("_call",)

    def __init__(self, delay_ms: int, call: Callable[[], None]) -> None:
        super().__init__(delay_ms)
        self._call = call

    def run(self) -> None:
        self._call()


@final
class CoordinatedPartition(Generic[S]):
    """A context with its timers, its tasks and its linger timer. All methods run within an event of the queue."""

    __slots__ = (
        "_events", "_executor", "_linger", "_linger_ms", "_now", "_reload", "_timers", "_wait", "_writer", "context",
    )  # fmt: skip

    def __init__(
        self,
        index: int,
        epoch: int,
        writer: PartitionWriter,
        events: EventQueue,
        now: Callable[[], Now],
        linger_ms: Callable[[], int],
        wait: Callable[[TimerTask], None],
        timers: PartitionTimers,
        executor: PartitionExecutor,
        watch: Callable[[WriteEvent], None],
        reload: Callable[[int], None],
    ) -> None:
        """Store the services. `wait` runs a task after its delay. `reload` loads the partition anew for an epoch."""
        self._writer = writer
        self._events = events
        self._now = now
        self._linger_ms = linger_ms
        self._wait = wait
        self._timers = timers
        self._executor = executor
        self._reload = reload
        self._linger: DelayedCall | None = None
        self.context: CoordinatorContext[S] = CoordinatorContext(
            index, writer, events, now, watch, self._on_batch, self._on_other_writer
        )
        self.context.epoch = epoch

    @property
    def shard(self) -> S:
        """The state of the partition, which is loading or active."""
        shard = self.context.shard
        assert shard is not None
        return shard

    def ensure_active(self) -> None:
        """Update the context to the high watermark. Raise KafkaError if it is not active."""
        state = self.context.state
        if state is CoordinatorState.LOADING:
            raise coordinator_load_in_progress()
        if state is not CoordinatorState.ACTIVE:
            raise not_coordinator()
        self.update_high_watermark()

    def update_high_watermark(self) -> None:
        context = self.context
        try:
            high_watermark = self._writer.partition(context.index).high_watermark
        except KafkaError:
            return  # it no longer leads the partition; the unload follows
        if high_watermark > context.last_committed_offset:
            context.on_high_watermark_updated(high_watermark)

    def on_topics_changed(self, changed: Collection[str], deleted: Collection[Topic]) -> None:
        """Notify the active partition. While it is loading it reads the metadata afterwards."""
        if self.context.state is CoordinatorState.ACTIVE:
            self.shard.on_topics_changed(changed, deleted)

    # Loading and unloading.

    def load(self, new_shard: NewShard[S], decode: Decode) -> None:
        """Load the log in slices. The partition becomes active, or it fails."""
        context = self.context
        context.shard = new_shard(context.index, context.registry, self._timers, self._executor)
        try:
            log = self._writer.partition(context.index).leader_log
        except KafkaError:
            self.unload(CoordinatorState.FAILED)
            return
        self._go_on_loading(load(context, log, decode))

    def _go_on_loading(self, slices: Slices[None]) -> None:
        context = self.context
        if context.state is not CoordinatorState.LOADING:
            return
        try:
            self._writer.partition(context.index)
            next(slices)
        except StopIteration:
            context.state = CoordinatorState.ACTIVE
            self.shard.on_loaded()
        except Exception as error:
            self.unload(CoordinatorState.FAILED)
            if not isinstance(error, KafkaError):
                self._events.report(f"loading partition {context.index}", error)
        else:
            self._wait(DelayedCall(0, lambda: self._events.enqueue_last(lambda: self._go_on_loading(slices))))

    def unload(self, state: CoordinatorState) -> None:
        """End the timers and tasks, and complete the waiting operations with NOT_COORDINATOR."""
        self._timers.cancel_all()
        self._executor.cancel_all()
        self._cancel_linger()
        self.context.unload(state)

    def _on_other_writer(self) -> None:
        """Load anew: another writer has appended to the log."""
        self.unload(CoordinatorState.FAILED)
        self._reload(self.context.epoch)

    # Batches.

    def maybe_flush(self) -> None:
        """Flush the open batch if it has lingered."""
        begun_ms, linger_ms = self.context.batch_begun_ms, self._linger_ms()
        if begun_ms is not None and 0 <= linger_ms <= self._now().mono_ms - begun_ms:
            self._flush()

    def _on_batch(self) -> None:
        linger_ms = self._linger_ms()
        if linger_ms < 0:
            self._events.enqueue_last(self._flush)
        elif linger_ms > 0:
            self._cancel_linger()
            self._linger = DelayedCall(linger_ms, lambda: self._events.enqueue_first(self._flush))
            self._wait(self._linger)

    def _flush(self) -> None:
        self._cancel_linger()
        if self.context.state is CoordinatorState.ACTIVE:
            try:
                self.context.flush()
            except KafkaError:
                return  # the operations have the error already

    def _cancel_linger(self) -> None:
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None
