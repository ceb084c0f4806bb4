"""The completion of batches: a batch with a response, or an expired one, succeeds, is retried, split, or fails.

Theory   With sequence numbers the transaction manager decides whether a batch may be retried, and is informed of each
         batch that was written or failed. In 2.0 it is informed before the callbacks, in 4.3 after them.
Source   Sender.completeBatch, failBatch, canRetry, reenqueueBatch, failExpiredBatches of 2.0 and 4.3.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from fakebroker.producer.accumulator_4_3 import RecordAccumulator43
from fakebroker.producer.errors import ProducerError, ProducerTimeoutError
from fakebroker.producer.generation import Generation
from fakebroker.producer.journal.events import BatchExpired, BatchRetried
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.record_accumulator import RecordAccumulator
from fakebroker.producer.sending import words
from fakebroker.producer.sending.in_flight_batches import InFlightBatches
from fakebroker.producer.sending.response_errors import (
    BrokerError,
    PartitionResponse,
    error_of_records,
    is_invalid_metadata,
    is_retriable,
    known_code,
)
from fakebroker.producer.transactions.transaction_manager_2_0 import TransactionManager20
from fakebroker.protocol.error_code import ErrorCode, kafka_name

_NONE: Final = int(ErrorCode.none)
_MESSAGE_TOO_LARGE: Final = int(ErrorCode.message_too_large)

ErrorOf = Callable[[int], ProducerError]


class Completion:
    """The completion of batches. `is_metadata_update_requested` is set when the client should refresh its metadata."""

    def __init__(self, accumulator: RecordAccumulator, in_flight: InFlightBatches) -> None:
        self.is_metadata_update_requested = False
        self._accumulator = accumulator
        self._manager = accumulator.transaction_manager
        self._in_flight = in_flight
        self._config = accumulator.config
        self._is_new = accumulator.config.generation.has_delivery_timeout
        self._guarantees_order = accumulator.config.max_in_flight_requests_per_connection == 1

    def complete(self, batch: ProducerBatch, answer: PartitionResponse, throttle_until_ms: int, now_ms: int) -> None:
        """Apply the response of a batch. Raises errors of the transaction manager's bookkeeping (2.0)."""
        batch.is_inflight = False
        code = known_code(answer.code, self._config.generation)
        if code != answer.code:
            answer = answer.with_code(code)
        if code == _MESSAGE_TOO_LARGE and batch.record_count > 1 and not (self._is_new and batch.is_done):
            self._split(batch)
        elif code == _NONE:
            self._succeed(batch, answer)
        else:
            self._complete_with_error(batch, answer, now_ms)
            if is_invalid_metadata(code, self._config.generation):
                self.is_metadata_update_requested = True
        if self._guarantees_order:
            self._accumulator.unmute_partition(batch.partition, throttle_until_ms)

    def expire(self, now_ms: int) -> None:
        """Fail expired batches; since KIP-91 also those in flight. The callbacks of queued batches come first."""
        accumulator = self._accumulator
        if not isinstance(accumulator, RecordAccumulator43):
            for batch in accumulator.expired_batches(now_ms):
                self._expire(batch, batch.expiry_error(), True)
            return
        accumulator.reset_next_batch_expiry_time()
        in_flight = self._in_flight.take_expired(accumulator, now_ms)
        for batch in accumulator.expired_batches(now_ms):
            self._expire(batch, delivery_timeout_error(batch, now_ms, self._config.generation), True)
        for batch in in_flight:
            self._expire(batch, delivery_timeout_error(batch, now_ms, self._config.generation), False)

    def _expire(self, batch: ProducerBatch, error: ProducerError, deallocates: bool) -> None:
        probe = self._accumulator.probe
        if probe is not None:
            number, since = probe.number_of(batch), batch.expired_since
            event = BatchExpired(*probe.times, number, *batch.partition, since, str(error), not deallocates)
            probe.tell(event, (batch, error))
        self._fail(batch, error, lambda at: error, False, deallocates)
        if self._manager is not None and batch.in_retry:
            self._manager.mark_sequence_unresolved(batch)

    def _split(self, batch: ProducerBatch) -> None:
        if self._manager is not None:
            self._manager.remove_in_flight_batch(batch)
        self._accumulator.split_and_reenqueue(batch)
        self._remove(batch)

    def _succeed(self, batch: ProducerBatch, answer: PartitionResponse) -> None:
        if self._manager is not None:
            self._manager.handle_completed_batch(batch, answer)
        if batch.complete(answer.base_offset):
            self._remove(batch)
        else:
            self._accumulator.deallocate(batch)

    def _complete_with_error(self, batch: ProducerBatch, answer: PartitionResponse, now_ms: int) -> None:
        manager = self._manager
        if self._can_retry(batch, answer, now_ms):
            if isinstance(manager, TransactionManager20) and manager.is_of_another_producer(batch):
                text = f"The producer id changed from {batch.producer_id} to {manager.producer_id_and_epoch[0]}."
                error = BrokerError(ErrorCode.out_of_order_sequence_number, text)
                self._fail(batch, error, lambda at: error, False, True)
            else:
                self._accumulator.reenqueue(batch, now_ms)
                probe = self._accumulator.probe
                if probe is not None:
                    number, name = probe.number_of(batch), kafka_name(answer.code)
                    probe.tell(BatchRetried(*probe.times, number, *batch.partition, name, batch.attempts))
                self._in_flight.maybe_remove(batch)
        elif answer.code == ErrorCode.duplicate_sequence_number:
            self._succeed(batch, answer)
        else:
            adjusts = batch.attempts < self._config.retries
            error_of = error_of_records(answer.code, answer.refused, answer.message)
            self._fail(batch, BrokerError(answer.code, answer.message), error_of, adjusts, True)

    def _can_retry(self, batch: ProducerBatch, answer: PartitionResponse, now_ms: int) -> bool:
        if self._is_new and (
            batch.is_done or batch.has_reached_delivery_timeout(self._config.delivery_timeout_ms, now_ms)
        ):
            return False
        if batch.attempts >= self._config.retries:
            return False
        is_plain = is_retriable(answer.code, self._config.generation)
        if self._manager is None:
            return is_plain
        return (is_plain and not self._is_new) or self._manager.can_retry(answer, batch)

    def _fail(
        self, batch: ProducerBatch, error: ProducerError, error_of: ErrorOf, adjusts: bool, deallocates: bool
    ) -> None:
        manager = self._manager
        if manager is not None and not self._is_new:
            manager.handle_failed_batch(batch, error, adjusts)
        if batch.complete_exceptionally(error_of):
            if manager is not None and self._is_new:
                with suppress(ProducerError):  # Kafka only logs it
                    manager.handle_failed_batch(batch, error, adjusts)
            if deallocates:
                self._remove(batch)
            else:  # its memory is freed when its response arrives
                self._in_flight.maybe_remove(batch)
                self._accumulator.complete_batch(batch)
        elif deallocates:
            self._accumulator.deallocate(batch)

    def _remove(self, batch: ProducerBatch) -> None:
        self._in_flight.maybe_remove(batch)
        self._accumulator.complete_and_deallocate(batch)


def delivery_timeout_error(batch: ProducerBatch, now_ms: int, generation: Generation) -> ProducerTimeoutError:
    """Return the error of a batch that has reached delivery.timeout.ms (Sender.failExpiredBatches)."""
    waited_ms = now_ms - batch.created_ms
    return ProducerTimeoutError(words.expired(batch.record_count, batch.partition, waited_ms, generation))
