"""The record accumulator: records wait in batches until the sender drains them. This is what both generations share.

Theory   Each partition has a queue of batches. A record goes into the last batch, or into a new one, for which memory
         is taken (the record may have to wait for it). `ready` returns the nodes with batches to send and the delay
         until the next check; `drain` takes at most one batch of each partition. A failed batch returns to the front of
         its queue (`reenqueue`). A batch that was too large for the broker returns in pieces (`split_and_reenqueue`).
         With sequence numbers (a transaction manager) a batch gets its sequence when it is first drained, and returns
         in sequence order. `expired_batches` removes batches that waited too long. A batch is `incomplete` from its
         creation until it is completed or aborted. The differences are in accumulator_2_0.py and accumulator_4_3.py.
Units    monotonic milliseconds; bytes.
Source   clients/.../producer/internals/RecordAccumulator.java of 2.0 and 4.3; conformance/producer plays both with it.
Differs  Nothing blocks: an appending record is a `RecordAppend`, done at once or when memory is free. After a call that
         gives memory back or closes the pool, the caller has to call `run_woken`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from fakebroker.producer.append import Appender, RecordAppend
from fakebroker.producer.buffer_pool import BufferPool
from fakebroker.producer.compression.batch_compression import CODECS, BatchCompression
from fakebroker.producer.compression.compression_ratio_estimator import CompressionRatioEstimator
from fakebroker.producer.errors import IllegalProducerStateError, ProducerClosedError, ProducerError
from fakebroker.producer.journal.events import BatchSplit
from fakebroker.producer.journal.probe import ProducerProbe
from fakebroker.producer.metadata_snapshot import MetadataSnapshot
from fakebroker.producer.producer_batch import Callback, FinalState, ProducerBatch, new_builder
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.ready_check_result import ReadyCheckResult
from fakebroker.producer.record_batch_builder import NO_SEQUENCE, Headers, estimate_size_upper_bound
from fakebroker.producer.sending import words
from fakebroker.producer.transactions.transaction_manager import TransactionManager
from fakebroker.protocol.topic_partition import TopicPartition, shared

NO_DELAY_MS: Final = 2**63 - 1  # no delay until the next check is known (Long.MAX_VALUE)


class RecordAccumulator(Appender):
    """The batches of a producer, by partition. After a call that gives memory back (`deallocate`, `close`, and all that
    end batches), call `run_woken`. `compression` may be replaced before the first record, to share its estimator."""

    def __init__(self, config: ProducerConfig, transaction_manager: TransactionManager | None = None) -> None:
        self.config = config
        self.transaction_manager = transaction_manager
        codec = CODECS[config.compression_type]
        estimator = CompressionRatioEstimator(config.generation)
        self.compression = BatchCompression(codec, estimator) if codec else None
        self.batch_size = max(1, config.batch_size)
        self.free = BufferPool(config.buffer_memory, self.batch_size, config.generation)
        self.is_closed = False
        self.probe: ProducerProbe | None = None
        self._incomplete: dict[ProducerBatch, None] = {}
        self._flushes_in_progress = 0
        self._appends_in_progress = 0
        self._may_be_undrained = False  # False: no batch waits to be drained

    def append(
        self,
        topic: str,
        partition: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        callback: Callback | None,
        max_time_to_block_ms: int,
        now_ms: int,
        metadata: MetadataSnapshot,
        on_done: Callable[[RecordAppend], None],
        abort_on_new_batch: bool = False,
    ) -> RecordAppend:
        """Put a record into a batch, at once or when there is memory. `on_done` is called in both cases, and also after
        an error. `partition` may be UNKNOWN_PARTITION if the accumulator chooses it (4.3)."""
        append = RecordAppend(
            self, topic, partition, timestamp_ms, key, value, headers, callback, max_time_to_block_ms, metadata,
            on_done, abort_on_new_batch,
        )  # fmt: skip
        self._appends_in_progress += 1
        self.begin(append, now_ms)
        return append

    def withdraw(self, append: RecordAppend, error: ProducerError) -> None:
        """End an append that waits for memory with `error`, at once. Call `run_woken` afterwards: others may get its
        memory."""
        self.free.withdraw(append)
        self.end(append, error)

    def begin(self, append: RecordAppend, now_ms: int) -> None:
        """Start an append: choose the partition, then append or wait for memory."""
        raise NotImplementedError

    def ready(self, metadata: MetadataSnapshot, now_ms: int) -> ReadyCheckResult:
        raise NotImplementedError

    def drain(
        self, metadata: MetadataSnapshot, nodes: Iterable[int], max_size: int, now_ms: int
    ) -> dict[int, list[ProducerBatch]]:
        """Return for each node the batches of its next request: at most `max_size` bytes, or a single batch."""
        raise NotImplementedError

    def expired_batches(self, now_ms: int) -> list[ProducerBatch]:
        """Remove and return the batches that waited too long. The caller ends each of them."""
        raise NotImplementedError

    def mute_partition(self, partition: TopicPartition) -> None:
        """Send nothing of this partition, so that a batch in flight keeps its place before the next one."""
        raise NotImplementedError

    def unmute_partition(self, partition: TopicPartition, throttle_until_ms: int) -> None:
        """Allow sending to this partition again; in 2.0 only from `throttle_until_ms` on."""
        raise NotImplementedError

    def queue_of(self, partition: TopicPartition) -> deque[ProducerBatch] | None:
        raise NotImplementedError

    def get_or_create_queue(self, partition: TopicPartition) -> deque[ProducerBatch]:
        raise NotImplementedError

    def queues(self) -> Iterable[deque[ProducerBatch]]:
        raise NotImplementedError

    def forget_queues(self) -> None:
        raise NotImplementedError

    def has_undrained(self) -> bool:
        return self._may_be_undrained and any(self.queues())

    def reenqueue(self, batch: ProducerBatch, now_ms: int) -> None:
        """Put a failed batch back into its queue. It is the next to be sent, after its back-off."""
        batch.reenqueued(now_ms)
        self._insert_in_sequence_order(self.get_or_create_queue(batch.partition), batch)

    def _insert_in_sequence_order(self, queue: deque[ProducerBatch], batch: ProducerBatch) -> None:
        """Insert the batch behind those with lower sequences, or at the front if there are no sequences."""
        at = 0
        if self.transaction_manager is not None:
            if self.transaction_manager.first_in_flight_sequence(batch.partition) == NO_SEQUENCE:
                raise IllegalProducerStateError(f"A batch for {batch.partition} comes back that was not in flight.")
            while at < len(queue) and queue[at].has_sequence and queue[at].base_sequence < batch.base_sequence:
                at += 1
        queue.insert(at, batch)
        self._may_be_undrained = True

    def drain_first(self, queue: deque[ProducerBatch], now_ms: int) -> ProducerBatch:
        """Take the first batch of the queue, assign its sequence if it has none, and build its bytes."""
        batch = queue.popleft()
        if self.transaction_manager is not None and not batch.has_sequence:
            self.transaction_manager.assign_sequence(batch)
        batch.close()
        batch.drained(now_ms)
        return batch

    def is_held_back(self, batch: ProducerBatch) -> bool:
        """Return True if the transaction manager does not allow sending this batch yet."""
        return self.transaction_manager is not None and self.transaction_manager.is_waiting(batch)

    def split_and_reenqueue(self, big_batch: ProducerBatch) -> int:
        """Split a batch that was too large for the broker. Return the number of pieces. The caller ends the large
        batch."""
        if self.compression is not None:
            self.compression.estimator.set_estimation(big_batch.partition.topic, max(1.0, big_batch.compression_ratio))
        is_new = self.config.generation.has_delivery_timeout
        size = self.batch_size
        if is_new and big_batch.is_split_batch:  # otherwise the batch could be split into itself again and again
            size = max(big_batch.max_record_size, big_batch.estimated_size_in_bytes() // 2)
        batches = big_batch.split(size, closes_last=is_new)
        queue = self.get_or_create_queue(big_batch.partition)
        for batch in reversed(batches):
            self._incomplete[batch] = None
            if self.transaction_manager is not None:
                self.transaction_manager.add_in_flight_batch(batch)
            self._insert_in_sequence_order(queue, batch)
        probe = self.probe
        if probe is not None:
            pieces = tuple((probe.number_of(piece), piece.record_count) for piece in batches)
            probe.tell(BatchSplit(*probe.times, probe.number_of(big_batch), *big_batch.partition, pieces))
        return len(batches)

    def complete_and_deallocate(self, batch: ProducerBatch) -> None:
        """Complete a batch and give its memory back."""
        self.complete_batch(batch)
        self.deallocate(batch)

    def complete_batch(self, batch: ProducerBatch) -> None:
        """Complete a batch without giving its memory back, which it needs while it is in flight."""
        del self._incomplete[batch]

    def deallocate(self, batch: ProducerBatch) -> None:
        """Give the memory of a batch back, once. The pieces of a split batch have no memory from the pool."""
        if batch.is_split_batch or batch.is_buffer_deallocated:
            return
        assert not batch.is_inflight, "memory of a batch that is in flight would be given back"
        batch.is_buffer_deallocated = True
        self.free.deallocate(batch.initial_capacity)

    def run_woken(self, now_ms: int) -> None:
        """Continue the appends that may have memory now."""
        self.free.run_woken(now_ms)

    def advance_to(self, now_ms: int) -> None:
        """Fail the appends that have waited for memory longer than `max_time_to_block_ms`."""
        self.free.advance_to(now_ms)

    def next_deadline_ms(self) -> int | None:
        """Return when `advance_to` next has something to do."""
        return self.free.next_deadline_ms()

    def begin_flush(self) -> list[ProducerBatch]:
        """Make all batches ready, without lingering. Return the batches that the flush waits for. Call `end_flush` when
        all of them are done."""
        self._flushes_in_progress += 1
        return list(self._incomplete)

    def end_flush(self) -> None:
        self._flushes_in_progress -= 1

    def flush_in_progress(self) -> bool:
        return self._flushes_in_progress > 0

    def has_incomplete(self) -> bool:
        return bool(self._incomplete)

    def close(self) -> None:
        """Refuse further records and make all batches ready."""
        self.is_closed = True
        if self.config.generation.has_delivery_timeout:
            self.free.close()

    def abort_incomplete_batches(self, error: ProducerError, now_ms: int) -> None:
        """Abort all batches, including those of appends that are under way, and forget all queues."""
        self.abort_batches(error)
        self.run_woken(now_ms)
        self.abort_batches(error)
        self.forget_queues()

    def abort_batches(self, error: ProducerError) -> None:
        """Abort all incomplete batches. In 4.3 a batch in flight keeps its memory until its response arrives."""
        for batch in list(self._incomplete):
            self._abort(batch, error)

    def abort_undrained_batches(self, error: ProducerError) -> None:
        """Abort the batches that were never drained."""
        for batch in list(self._incomplete):
            was_drained = batch.is_closed if self.transaction_manager is None else batch.has_sequence
            if not was_drained:
                self._abort(batch, error)

    def _abort(self, batch: ProducerBatch, error: ProducerError) -> None:
        batch.abort_record_appends()
        queue = self.queue_of(batch.partition)
        if queue is not None and batch in queue:
            queue.remove(batch)
        batch.abort(error)
        self.complete_batch(batch)
        if not (batch.is_inflight and self.config.generation.has_delivery_timeout):
            batch.is_inflight = False
            self.deallocate(batch)

    def memory_needed(self, append: RecordAppend) -> int:
        """Return the size in bytes of a batch that begins with this record."""
        return max(self.batch_size, estimate_size_upper_bound(append.key, append.value, append.headers))

    def take_memory(self, append: RecordAppend, now_ms: int) -> bool:
        """Take memory for a new batch. Return False if the append has to wait for it."""
        size = self.memory_needed(append)
        if not self.free.allocate(append, size, append.max_time_to_block_ms, now_ms):
            return False
        append.taken = size
        return True

    def try_append(self, append: RecordAppend, queue: deque[ProducerBatch], now_ms: int) -> bool:
        """Append to the last batch if it has room; otherwise close that batch for appends. Raises
        ProducerClosedError."""
        if self.is_closed:
            raise ProducerClosedError(words.CLOSED_WHILE_SENDING)
        if not queue:
            return False
        last = queue[-1]
        if not last.try_append(append.timestamp_ms, append.key, append.value, append.headers, append.callback, now_ms):
            last.close_for_record_appends()
            return False
        append.batch, append.batch_is_full = last, len(queue) > 1 or last.is_full()
        return True

    def append_new_batch(self, append: RecordAppend, queue: deque[ProducerBatch], now_ms: int) -> ProducerBatch:
        """Start a batch with this record, in the memory that the append has taken."""
        builder = new_builder(append.taken, self.compression, append.topic)
        batch = ProducerBatch(shared(append.topic, append.partition), builder, now_ms)
        append.taken = 0
        batch.try_append(append.timestamp_ms, append.key, append.value, append.headers, append.callback, now_ms)
        queue.append(batch)
        self._may_be_undrained = True
        self._incomplete[batch] = None
        append.batch = batch
        append.batch_is_full = len(queue) > 1 or batch.is_full()
        append.new_batch_created = True
        return batch

    def end(self, append: RecordAppend, error: ProducerError | None) -> None:
        """End an append: its record is in a batch, or `error` says why not. Unused memory goes back."""
        if append.taken:
            self.free.deallocate(append.taken)
            append.taken = 0
        self._appends_in_progress -= 1
        append.error = error
        append.is_done = True
        append.on_done(append)

    def check_invariants(self) -> None:
        self.free.check_invariants()
        assert self._flushes_in_progress >= 0, "more flushes ended than began"
        assert self._appends_in_progress >= self.free.queued(), "a waiter does not append"
        for queue in self.queues():
            assert self._may_be_undrained or not queue, "a queued batch is not looked for"
            _check_queue(queue, self._incomplete)
        assert all(not batch.is_done for batch in self._incomplete), "a batch that is done is incomplete"


def _check_queue(queue: Sequence[ProducerBatch], incomplete: dict[ProducerBatch, None]) -> None:
    for at, batch in enumerate(queue):
        if batch.final_state is FinalState.ABORTED:
            continue  # 2.0 reenqueues an aborted batch if its response arrives later
        assert batch in incomplete, "a batch in the queue is complete"
        assert batch.record_count, "an empty batch"
        assert at == len(queue) - 1 or batch.is_full() or batch.is_split_batch, "an open batch before the last"
