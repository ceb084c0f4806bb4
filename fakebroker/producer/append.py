"""A record on its way into a batch. It may have to wait for memory.

Source   RecordAccumulator.append, RecordAppendResult and AppendCallbacks of 4.3, as an object where Kafka has a thread.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.producer.buffer_pool import MemoryWaiter
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.metadata_snapshot import MetadataSnapshot
from fakebroker.producer.producer_batch import Callback, ProducerBatch
from fakebroker.producer.record_batch_builder import Headers


class Appender:
    """The owner of appends: it continues them when memory is free, and ends them."""

    def go_on_with(self, append: RecordAppend, now_ms: int) -> None:
        """Continue an append that waited and now has its memory."""
        raise NotImplementedError

    def end(self, append: RecordAppend, error: ProducerError | None) -> None:
        """End an append."""
        raise NotImplementedError


class RecordAppend(MemoryWaiter):
    """A record on its way into a batch. When `is_done`, it is in a batch or `error` says why not.

    partition           target partition; it may change until the append is done, if the accumulator chooses it
    batch               the batch that contains the record, once it is in one
    batch_is_full       True if the sender should be woken
    new_batch_created   True if the record is the first of its batch
    abort_on_new_batch  instead of starting a batch, end with `abort_for_new_batch` set and without a batch (KIP-480)
    """

    __slots__ = (
        "_appender", "abort_for_new_batch", "abort_on_new_batch", "batch", "batch_is_full", "callback", "error",
        "headers", "is_done", "key", "metadata", "new_batch_created", "on_done", "partition", "taken", "timestamp_ms",
        "topic", "value", "wanted_partition",
    )  # fmt: skip

    def __init__(
        self,
        appender: Appender,
        topic: str,
        partition: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        callback: Callback | None,
        max_time_to_block_ms: int,
        metadata: MetadataSnapshot,
        on_done: Callable[[RecordAppend], None],
        abort_on_new_batch: bool = False,
    ) -> None:
        self._appender = appender
        self.topic = topic
        self.wanted_partition = partition
        self.partition = partition
        self.timestamp_ms = timestamp_ms
        self.key = key
        self.value = value
        self.headers = headers
        self.callback = callback
        self.max_time_to_block_ms = max_time_to_block_ms
        self.metadata = metadata
        self.on_done = on_done
        self.taken = 0  # bytes taken from the pool that no batch uses yet
        self.is_done = False
        self.error: ProducerError | None = None
        self.batch: ProducerBatch | None = None
        self.batch_is_full = False
        self.new_batch_created = False
        self.abort_on_new_batch = abort_on_new_batch
        self.abort_for_new_batch = False

    def on_memory(self, now_ms: int) -> None:
        self.taken = self.size
        self._appender.go_on_with(self, now_ms)

    def on_refused(self, error: ProducerError, now_ms: int) -> None:
        self._appender.end(self, error)
