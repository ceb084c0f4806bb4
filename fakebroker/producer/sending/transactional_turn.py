"""The transactional part of the sender's iteration: send one request to a coordinator, after connecting and back-off.

Theory   Kafka's sender thread blocks here, until a node is connected or for a back-off before a retry. Instead, an
         iteration ends as `blocked` here, and the next one continues at the same point (`_then`). While Kafka's thread
         waits for a node it reads responses; while it sleeps it does not. If a request cannot be sent, the coordinator
         is looked up again and the request waits for it.
Units    monotonic milliseconds.
Source   Sender.runOnce, maybeSendAndPollTransactionalRequest, NetworkClientUtils.awaitReady of 4.3, and of 2.0.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.record_accumulator import RecordAccumulator
from fakebroker.producer.sending.client import Client, TransactionalRequest
from fakebroker.producer.sending.in_flight_batches import InFlightBatches
from fakebroker.producer.transactions.requests import CoordinatorType, TxnAnswer
from fakebroker.producer.transactions.transaction_manager import TransactionManager, TxnRequestHandler

Step = Callable[[int], int | None]  # now_ms to None (continue with the records) or the delay until the next iteration


class TransactionalTurn:
    """The transactional part of an iteration. `is_metadata_update_requested` is set when the client should refresh its
    metadata. `turn_ms` is the start of the iteration."""

    def __init__(
        self, manager: TransactionManager, accumulator: RecordAccumulator, in_flight: InFlightBatches, client: Client
    ) -> None:
        self.is_metadata_update_requested = False
        self.is_blocked = False
        self.asleep_until_ms: int | None = None
        self.turn_ms = 0
        self._manager = manager
        self._accumulator = accumulator
        self._in_flight = in_flight
        self._client = client
        self._then: Step | None = None
        self._handler: TxnRequestHandler | None = None
        self._node = -1
        self._awaited_since_ms = 0

    @property
    def config(self) -> ProducerConfig:
        return self._accumulator.config

    def run(self, now_ms: int) -> int | None:
        """Start or continue. Return None if records may be sent, otherwise the delay in milliseconds until the next
        call."""
        then, self._then = self._then, None
        self.is_blocked = False
        if then is not None:
            return then(now_ms)
        self.turn_ms = now_ms
        return self._begin(now_ms)

    def on_answer(self, answer: TxnAnswer | None) -> None:
        """Receive the response to the sender's own request (2.0), None if its connection closed."""
        raise NotImplementedError

    def _begin(self, now_ms: int) -> int | None:
        raise NotImplementedError

    def _on_ready(self, now_ms: int) -> int | None:
        """Continue: the node is connected."""
        raise NotImplementedError

    def _on_not_ready(self, now_ms: int) -> int | None:
        """Continue: the node cannot be connected, or the wait timed out."""
        raise NotImplementedError

    def _sent_ms(self, now_ms: int) -> int:
        return now_ms

    def _block(self, then: Step, delay_ms: int) -> int:
        self.is_blocked = True
        self._then = then
        return delay_ms

    def _sleep(self, ms: int, then: Step, now_ms: int) -> int | None:
        self.asleep_until_ms = now_ms + ms
        self._after_sleep = then
        return self._sleep_on(now_ms)

    def _sleep_on(self, now_ms: int) -> int | None:
        assert self.asleep_until_ms is not None
        if now_ms < self.asleep_until_ms:
            return self._block(self._sleep_on, self.asleep_until_ms - now_ms)
        self.asleep_until_ms = None
        return self._after_sleep(now_ms)

    def _await_ready(self, node: int, now_ms: int) -> int | None:
        self._node = node
        self._awaited_since_ms = now_ms
        if self._client.is_ready(node, now_ms) or self._client.ready(node, now_ms):
            return self._on_ready(now_ms)
        return self._await_on(now_ms)

    def _await_on(self, now_ms: int) -> int | None:
        if self._client.is_ready(self._node, now_ms):
            return self._on_ready(now_ms)
        left_ms = self._awaited_since_ms + self.config.request_timeout_ms - now_ms
        if left_ms <= 0 or self._client.connection_failed(self._node):
            return self._on_not_ready(now_ms)
        return self._block(self._await_on, left_ms)

    def _send_after_backoff(self, now_ms: int) -> int | None:
        handler = self._current()
        if handler.is_retry:
            return self._sleep(handler.retry_backoff_ms, self._send, now_ms)
        return self._send(now_ms)

    def _send(self, now_ms: int) -> int | None:
        handler = self._current()
        request = TransactionalRequest(self._node, self.config.request_timeout_ms, handler.request, handler)
        self._manager.has_in_flight_request = True
        self._client.send_transactional(request, self._sent_ms(now_ms))
        return self.config.retry_backoff_ms

    def _coordinator_of(self, handler: TxnRequestHandler) -> int | None:
        kind = handler.coordinator_type
        assert kind is not None
        return self._manager.coordinator(kind)

    def _is_for_transaction_coordinator(self) -> bool:
        return self._current().coordinator_type is CoordinatorType.TRANSACTION

    def _current(self) -> TxnRequestHandler:
        assert self._handler is not None, "no request is about to be sent"
        return self._handler

    def _maybe_abort_batches(self) -> None:
        """Abort all batches: the producer has a fatal error."""
        error = self._manager.last_error
        if error is not None and self._accumulator.has_incomplete():
            self._accumulator.abort_batches(error)
            self._in_flight.clear()
