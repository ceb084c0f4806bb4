"""Sending a record: from `send` through metadata and memory into a batch, or to an error.

Theory   A record that waits for the metadata of its topic is in `_waiting`; one that waits for memory is in the queue
         of the buffer pool. A record that begins a batch or fills one wakes the sender.
Units    monotonic milliseconds; record timestamps are whatever the caller passes.
Source   KafkaProducer.doSend of 2.0, 2.8 (KIP-480) and 4.3.
Differs  If Kafka's `send` calls a callback itself, for a refused record, it throws what the callback raises. Here this
         is logged, as for all callbacks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import final

from fakebroker.producer.accumulator_2_0 import RecordAccumulator20
from fakebroker.producer.accumulator_4_3 import RecordAccumulator43
from fakebroker.producer.append import RecordAppend
from fakebroker.producer.client.sender_thread import SenderThread
from fakebroker.producer.client.sending import (
    InvalidPartitionError,
    Sending,
    goes_on_after_waiting,
    wait_on_metadata,
)
from fakebroker.producer.errors import (
    AfterCloseError,
    BufferTooSmallError,
    IllegalProducerStateError,
    ProducerClosedError,
    ProducerError,
    RecordTooLargeError,
)
from fakebroker.producer.journal.events import (
    NO_ERROR,
    RecordAppended,
    RecordBlocked,
    RecordCalledBack,
    RecordRefused,
    RecordSent,
    RecordUnblocked,
)
from fakebroker.producer.journal.probe import ProducerProbe
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.metadata_snapshot import MetadataSnapshot
from fakebroker.producer.partitioner import Partitioner
from fakebroker.producer.producer_batch import Callback, ProducerBatch, RecordMetadata
from fakebroker.producer.record_batch_builder import Headers, estimate_size_upper_bound
from fakebroker.producer.sending import words
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.producer.transactions.transaction_manager_2_0 import TransactionManager20
from fakebroker.producer.transactions.transaction_manager_4_3 import TransactionManager43
from fakebroker.protocol.error_code import kafka_name
from fakebroker.protocol.topic_partition import TopicPartition

_log = logging.getLogger("fakebroker.producer")

# Kafka's `send` throws these, and plain KafkaExceptions, without a callback.
_NOT_CALLED_BACK = (ProducerClosedError, BufferTooSmallError, IllegalProducerStateError, InvalidPartitionError)


@final
class RecordSends:
    """The records that are sent, until each is in a batch or refused. `advance_to` continues those that wait for
    metadata; call it after each step of the sender and at `next_deadline_ms`. `probe` is there once the producer has a
    listener."""

    def __init__(
        self,
        metadata: Metadata,
        accumulator: RecordAccumulator20 | RecordAccumulator43,
        random_int: Callable[[], int],
        thread: SenderThread,
    ) -> None:
        config = accumulator.config
        generation = config.generation
        self.probe: ProducerProbe | None = None
        self._config = config
        self._metadata = metadata
        self._accumulator = accumulator
        self._manager = accumulator.transaction_manager
        self._sender_thread = thread
        self._partitioner = Partitioner(generation, random_int, config.partitioner_ignore_keys)
        self._is_sticky = generation.has_sticky_partitioner and not generation.has_built_in_partitioner
        self._waiting: list[Sending] = []
        self._blocked: dict[Sending, tuple[str, int]] = {}  # for the probe: reason and start of the wait

    def send(
        self,
        topic: str,
        value: bytes | None,
        timestamp_ms: int,
        now_ms: int,
        key: bytes | None,
        partition: int | None,
        headers: Headers,
        callback: Callback | None,
    ) -> Sending:
        """Put a record into a batch, or let it wait for metadata or memory, or refuse it."""
        guarded = None if callback is None else _guarded(callback, topic)
        sending = Sending(topic, partition, key, value, headers, timestamp_ms, guarded, now_ms)
        if self.probe is not None:
            self.probe.now_ms = now_ms
            self._tell_sent(self.probe, sending)
        try:
            if not self._sender_thread.is_running:
                raise AfterCloseError(words.CLOSED)
            if wait_on_metadata(sending, self._metadata, now_ms):
                self._append(sending, now_ms)
            else:
                self._waiting.append(sending)
                if self.probe is not None:
                    self._tell_blocked(self.probe, sending, "metadata")
                self._sender_thread.wake(now_ms)
                if self._config.max_block_ms == 0:
                    self.advance_to(now_ms)
        except ProducerError as error:
            self._refuse(sending, error)
        return sending

    def withdraw(self, sending: Sending, now_ms: int) -> None:
        """Refuse a record that waits, without a callback. Nothing happens if it is done."""
        if sending.is_done:
            return
        if self.probe is not None:
            self.probe.now_ms = now_ms
        append = sending.append
        if append is None:
            self._waiting.remove(sending)
            self._refuse(sending, ProducerError("The record was taken back while it waited for metadata."))
            return
        self._accumulator.withdraw(append, ProducerError("The record was taken back while it waited for memory."))
        self._accumulator.run_woken(now_ms)

    def advance_to(self, now_ms: int) -> None:
        if not self._waiting:
            return
        for sending in list(self._waiting):
            try:
                if not self._sender_thread.is_running:
                    raise ProducerClosedError(words.CLOSED_WHILE_SENDING)
                if not goes_on_after_waiting(sending, self._metadata, now_ms):
                    continue
                self._waiting.remove(sending)
                self._append(sending, now_ms)
            except ProducerError as error:
                if sending in self._waiting:
                    self._waiting.remove(sending)
                self._refuse(sending, error)

    def next_deadline_ms(self) -> int | None:
        """Return when the next record has waited for metadata for too long."""
        if not self._waiting:
            return None
        return min(sending.began_ms for sending in self._waiting) + self._config.max_block_ms

    def _append(self, sending: Sending, now_ms: int) -> None:
        if self.probe is not None:
            self._tell_unblocked(self.probe, sending)
        snapshot = self._metadata.fetch()
        partition = self._partitioner.partition(sending.topic, sending.partition, sending.key, snapshot)
        size = estimate_size_upper_bound(sending.key, sending.value, sending.headers)
        most = self._config.max_request_size
        if size > most:
            raise RecordTooLargeError(words.too_large_for_request(size, most, self._config.generation))
        if size > self._config.buffer_memory:
            raise RecordTooLargeError(words.too_large_for_memory(size))
        if isinstance(self._manager, TransactionManager20) and self._manager.is_transactional:
            assert partition is not None, "2.0 knows the partition of each record before it is in a batch"
            self._manager.maybe_add_partition(TopicPartition(sending.topic, partition))

        append = self._accumulate(sending, partition, snapshot, now_ms, self._is_sticky)
        if append.abort_for_new_batch:
            self._partitioner.on_new_batch(sending.topic, partition, snapshot)
            partition = self._partitioner.partition(sending.topic, sending.partition, sending.key, snapshot)
            append = self._accumulate(sending, partition, snapshot, now_ms, False)
        if not append.is_done:
            sending.append = append
            if self.probe is not None:
                self._tell_blocked(self.probe, sending, "memory")

    def _accumulate(
        self, sending: Sending, partition: int, snapshot: MetadataSnapshot, now_ms: int, abort_on_new_batch: bool
    ) -> RecordAppend:
        def appended(append: RecordAppend) -> None:
            if not append.abort_for_new_batch:
                self._appended(sending, append, now_ms)

        return self._accumulator.append(
            sending.topic,
            partition,
            sending.timestamp_ms,
            sending.key,
            sending.value,
            sending.headers,
            sending.callback,
            max(0, self._config.max_block_ms - (now_ms - sending.began_ms)),
            now_ms,
            snapshot,
            appended,
            abort_on_new_batch,
        )

    def _appended(self, sending: Sending, append: RecordAppend, now_ms: int) -> None:
        sending.append = None
        if self.probe is not None:
            self._tell_unblocked(self.probe, sending)
        if append.error is not None:
            self._refuse(sending, append.error)
            return
        batch = append.batch
        assert batch is not None, "a record that is not refused is in a batch"
        if self.probe is not None and self.probe.hears(RecordAppended):
            _tell_appended(self.probe, sending, batch, append.new_batch_created)
        sending.partition = append.partition
        if isinstance(self._manager, TransactionManager43):
            try:
                self._manager.maybe_add_partition(batch.partition)
            except ProducerError as error:  # as in Kafka, the record stays in its batch and fails with it
                self._refuse(sending, error)
                return
        sending.is_done = True
        if append.batch_is_full or append.new_batch_created:
            self._sender_thread.wake(now_ms)

    def _refuse(self, sending: Sending, error: ProducerError) -> None:
        sending.is_done = True
        sending.error = error
        is_thrown = type(error) is ProducerError or isinstance(error, _NOT_CALLED_BACK)
        probe = self.probe
        if probe is not None:
            self._tell_unblocked(probe, sending)
            name, message = _name_of(error), str(error)
            probe.tell(RecordRefused(*probe.times, sending.number, name, message, is_thrown), error)
        if is_thrown:
            return
        if sending.callback is not None:
            sending.callback(None, error)
        if isinstance(self._manager, TransactionManager43):
            try:
                self._manager.maybe_transition_to_error_state(error)
            except ProducerError as refusal:
                sending.error = refusal

    def _tell_sent(self, probe: ProducerProbe, sending: Sending) -> None:
        """Number a record and tell it; its end will be told before its callback is called."""
        probe.records += 1
        sending.number = probe.records
        if probe.hears(RecordCalledBack):
            sending.callback = partial(_called_back, probe, sending, sending.callback)
        if probe.hears(RecordSent):
            key = None if sending.key is None else sending.key.decode("utf-8", "backslashreplace")
            size = len(sending.key or b"") + len(sending.value or b"")
            topic, partition = sending.topic, _partition_of(sending)
            probe.tell(RecordSent(*probe.times, sending.number, topic, partition, key, size), sending)

    def _tell_blocked(self, probe: ProducerProbe, sending: Sending, waits_for: str) -> None:
        self._blocked[sending] = waits_for, probe.now_ms
        probe.tell(RecordBlocked(*probe.times, sending.number, waits_for))

    def _tell_unblocked(self, probe: ProducerProbe, sending: Sending) -> None:
        """Tell the end of the wait, if there was one. The record continues or is refused."""
        blocked = self._blocked.pop(sending, None)
        if blocked is not None:
            waits_for, since_ms = blocked
            probe.tell(RecordUnblocked(*probe.times, sending.number, waits_for, probe.now_ms - since_ms))


def _tell_appended(probe: ProducerProbe, sending: Sending, batch: ProducerBatch, is_new_batch: bool) -> None:
    number, place = probe.number_of(batch), batch.record_count - 1
    probe.tell(RecordAppended(*probe.times, sending.number, *batch.partition, number, place, is_new_batch))


def _called_back(
    probe: ProducerProbe,
    sending: Sending,
    callback: Callback | None,
    metadata: RecordMetadata | None,
    error: ProducerError | None,
) -> None:
    """Tell the end of a record, then call its own callback."""
    assert (metadata is None) != (error is None), "a record has an error or a place"
    sending.callback = None  # the two reference each other
    partition, offset = _partition_of(sending), -1
    if metadata is not None:
        partition, offset = metadata.partition.partition, metadata.offset
    name, message = _name_of(error), "" if error is None else str(error)
    number, topic = sending.number, sending.topic
    probe.tell(RecordCalledBack(*probe.times, number, topic, partition, name, message, offset), error)
    if callback is not None:
        callback(metadata, error)


def _partition_of(sending: Sending) -> int:
    return -1 if sending.partition is None else sending.partition


def _name_of(error: ProducerError | None) -> str:
    if error is None:
        return NO_ERROR
    return kafka_name(error.code) if isinstance(error, BrokerError) else type(error).__name__


def _guarded(callback: Callback, topic: str) -> Callback:
    """Return a callback that never raises, so that the other callbacks of the batch run too."""

    def guarded(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
        try:
            callback(metadata, error)
        except Exception:
            where = topic if metadata is None else str(metadata.partition)
            _log.exception("Error executing user-provided callback on message for '%s'", where)

    return guarded
