"""The transactional part of an iteration of 2.0.

Theory   An idempotent producer sends no records until it has a producer id. The sender itself requests it and waits for
         the response. Requests sent later in the iteration have the time of its start.
Source   Sender.run, maybeSendTransactionalRequest, maybeWaitForProducerId of 2.0.
"""

from __future__ import annotations

from fakebroker.producer.errors import ProducerError
from fakebroker.producer.record_accumulator import RecordAccumulator
from fakebroker.producer.sending import words
from fakebroker.producer.sending.client import Client, TransactionalRequest
from fakebroker.producer.sending.in_flight_batches import InFlightBatches
from fakebroker.producer.sending.response_errors import BrokerError, is_retriable, known_code
from fakebroker.producer.sending.transactional_turn import TransactionalTurn
from fakebroker.producer.transactions.producer_id_and_epoch import NONE
from fakebroker.producer.transactions.requests import InitProducerId, TxnAnswer
from fakebroker.producer.transactions.transaction_manager_2_0 import TransactionManager20
from fakebroker.protocol.error_code import ErrorCode

_FOR_EVER_MS = 2**31 - 1


class TransactionalTurn20(TransactionalTurn):
    def __init__(
        self, manager: TransactionManager20, accumulator: RecordAccumulator, in_flight: InFlightBatches, client: Client
    ) -> None:
        super().__init__(manager, accumulator, in_flight, client)
        self._txn = manager
        self._answer: TxnAnswer | None = None
        self._is_answered = False

    def on_answer(self, answer: TxnAnswer | None) -> None:
        self._answer = answer
        self._is_answered = True

    def _sent_ms(self, now_ms: int) -> int:
        return self.turn_ms

    def _begin(self, now_ms: int) -> int | None:
        manager = self._txn
        if manager.should_reset_producer_state_after_resolving_sequences():
            manager.reset_producer_id()
        if not manager.is_transactional:
            return self._wait_for_producer_id(now_ms)
        if manager.has_unresolved_sequences() and not manager.has_fatal_error:
            text = "Records that were sent were not acknowledged, and cannot be sent again. The producer cannot go on."
            manager.transition_to_fatal_error(ProducerError(text))
        elif manager.has_in_flight_request:
            return self.config.retry_backoff_ms
        else:
            return self._maybe_send(now_ms)
        return self._end()

    def _end(self) -> int | None:
        manager = self._txn
        if manager.has_fatal_error or not manager.has_producer_id:
            self._maybe_abort_batches()
            return self.config.retry_backoff_ms
        if manager.has_abortable_error:
            assert manager.last_error is not None
            self._accumulator.abort_undrained_batches(manager.last_error)
        return None

    def _maybe_send(self, now_ms: int) -> int | None:
        accumulator = self._accumulator
        if self._txn.is_completing and accumulator.has_incomplete():
            if self._txn.is_aborting:
                accumulator.abort_undrained_batches(ProducerError(words.TRANSACTION_ABORTED))
            if not accumulator.flush_in_progress():
                accumulator.begin_flush()  # Kafka never ends this flush: from now on nothing lingers
        self._handler = self._txn.next_request(accumulator.has_incomplete())
        return self._end() if self._handler is None else self._find_node(now_ms)

    def _find_node(self, now_ms: int) -> int | None:
        handler = self._current()
        if handler.coordinator_type is None:
            return self._find_any_node(now_ms)
        node = self._coordinator_of(handler)
        return self._on_not_ready(now_ms) if node is None else self._await_ready(node, now_ms)

    def _find_any_node(self, now_ms: int) -> int | None:
        node = self._client.least_loaded_node(now_ms)
        return self._on_not_ready(now_ms) if node is None else self._await_ready(node, now_ms)

    def _on_ready(self, now_ms: int) -> int | None:
        if self._handler is not None:
            return self._send_after_backoff(now_ms)
        self._is_answered = False
        request = InitProducerId(None, _FOR_EVER_MS, NONE)
        sent = TransactionalRequest(self._node, self.config.request_timeout_ms, request, None)
        self._client.send_transactional(sent, now_ms)
        return self._await_answer(now_ms)

    def _on_not_ready(self, now_ms: int) -> int | None:
        handler = self._handler
        if handler is None or handler.coordinator_type is None:
            return self._sleep(self.config.retry_backoff_ms, self._try_again, now_ms)
        self._txn.look_up_coordinator_of(handler)
        self._txn.retry(handler)
        return self.config.retry_backoff_ms

    def _try_again(self, now_ms: int) -> int | None:
        self.is_metadata_update_requested = True
        return self._wait_for_producer_id(now_ms) if self._handler is None else self._find_node(now_ms)

    def _wait_for_producer_id(self, now_ms: int) -> int | None:
        self._handler = None
        if self._txn.has_producer_id or self._txn.has_error:
            return self._end()
        return self._find_any_node(now_ms)

    def _await_answer(self, now_ms: int) -> int | None:
        if not self._is_answered:
            return self._block(self._await_answer, self.config.request_timeout_ms)
        answer, self._answer = self._answer, None
        if answer is not None:
            generation = self.config.generation
            code = known_code(answer.code, generation)
            if code == ErrorCode.none:
                self._txn.producer_id_and_epoch = answer.producer
                return self._end()
            if not is_retriable(code, generation):
                self._txn.transition_to_fatal_error(BrokerError(code))
                return self._end()
        return self._sleep(self.config.retry_backoff_ms, self._try_again, now_ms)
