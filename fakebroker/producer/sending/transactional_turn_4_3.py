"""The transactional part of a turn of 4.3.

Source   Sender.runOnce, maybeSendAndPollTransactionalRequest, shouldHandleAuthorizationError of 4.3.
"""

from __future__ import annotations

from fakebroker.producer.errors import TransactionAbortedError
from fakebroker.producer.record_accumulator import RecordAccumulator
from fakebroker.producer.sending import words
from fakebroker.producer.sending.client import Client
from fakebroker.producer.sending.in_flight_batches import InFlightBatches
from fakebroker.producer.sending.response_errors import BrokerError, has_code
from fakebroker.producer.sending.transactional_turn import TransactionalTurn
from fakebroker.producer.transactions.transaction_manager_4_3 import TransactionManager43
from fakebroker.protocol.error_code import ErrorCode

_NOT_AUTHORIZED = (ErrorCode.transactional_id_authorization_failed, ErrorCode.cluster_authorization_failed)


class TransactionalTurn43(TransactionalTurn):
    def __init__(
        self, manager: TransactionManager43, accumulator: RecordAccumulator, in_flight: InFlightBatches, client: Client
    ) -> None:
        super().__init__(manager, accumulator, in_flight, client)
        self._txn = manager

    def _begin(self, now_ms: int) -> int | None:
        manager = self._txn
        manager.maybe_resolve_sequences()
        if manager.has_fatal_error:
            self._maybe_abort_batches()
            return self.config.retry_backoff_ms
        if manager.has_abortable_error and self._handle_authorization_error():
            return 0
        manager.bump_idempotent_epoch_and_reset_id_if_needed()
        return self._maybe_send(now_ms)

    def _handle_authorization_error(self) -> bool:
        """Return to UNINITIALIZED after an authorization error, so that the producer may try again later."""
        error = self._txn.last_error
        if error is None or not has_code(error, *_NOT_AUTHORIZED):
            return False
        text = "The producer is not authorized."
        self._txn.fail_pending_requests(BrokerError(ErrorCode.invalid_config, text))
        if self._accumulator.has_incomplete():
            self._accumulator.abort_batches(error)
            self._in_flight.clear()
        self._txn.transition_to_uninitialized(error)
        return True

    def _maybe_send(self, now_ms: int) -> int | None:
        manager = self._txn
        if manager.has_in_flight_request:
            return self.config.retry_backoff_ms
        if manager.has_abortable_error:
            assert manager.last_error is not None
            self._accumulator.abort_undrained_batches(manager.last_error)
        elif manager.is_aborting:
            self._accumulator.abort_undrained_batches(TransactionAbortedError(words.TRANSACTION_ABORTED))
        handler = self._handler = manager.next_request(self._accumulator.has_incomplete())
        if handler is None:
            return None
        if handler.coordinator_type is not None:
            node = self._coordinator_of(handler)
            return self._on_not_ready(now_ms) if node is None else self._await_ready(node, now_ms)
        node = self._client.least_loaded_node(now_ms)
        if node is None:
            manager.retry(handler)
            return self.config.retry_backoff_ms
        return self._await_ready(node, now_ms)

    def _on_ready(self, now_ms: int) -> int | None:
        if self._is_for_transaction_coordinator():
            self._txn.on_coordinator_ready()
        return self._send_after_backoff(now_ms)

    def _on_not_ready(self, now_ms: int) -> int | None:
        handler = self._current()
        if handler.coordinator_type is None:
            return self._sleep(self.config.retry_backoff_ms, self._ask_for_metadata, now_ms)
        self._txn.look_up_coordinator_of(handler)
        self._txn.retry(handler)
        return 0

    def _ask_for_metadata(self, now_ms: int) -> int | None:
        self.is_metadata_update_requested = True
        self._txn.retry(self._current())
        return 0
