"""Several listeners of one producer, in their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fakebroker.producer.client.sending import Sending
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.journal.listener import Listener
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.network.client_request import ClientRequest, ClientResponse
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.transactions.transaction_manager import TransactionManager


class Listeners(Listener):
    def __init__(self, listeners: Iterable[Listener]) -> None:
        super().__init__()
        self._listeners = list(listeners)

    def __iter__(self) -> Iterator[Listener]:
        return iter(self._listeners)

    def _each(self) -> list[Listener]:
        for listener in self._listeners:
            listener.now_ms = self.now_ms
        return self._listeners

    def record_sent(self, sending: Sending) -> None:
        for one in self._each():
            one.record_sent(sending)

    def record_blocked(self, sending: Sending, is_for_memory: bool) -> None:
        for one in self._each():
            one.record_blocked(sending, is_for_memory)

    def record_unblocked(self, sending: Sending) -> None:
        for one in self._each():
            one.record_unblocked(sending)

    def record_appended(self, sending: Sending, batch: ProducerBatch, is_new_batch: bool) -> None:
        for one in self._each():
            one.record_appended(sending, batch, is_new_batch)

    def record_refused(self, sending: Sending, error: ProducerError, is_thrown: bool) -> None:
        for one in self._each():
            one.record_refused(sending, error, is_thrown)

    def batch_drained(self, batch: ProducerBatch, node: int) -> None:
        for one in self._each():
            one.batch_drained(batch, node)

    def batch_retried(self, batch: ProducerBatch, code: int) -> None:
        for one in self._each():
            one.batch_retried(batch, code)

    def batch_split(self, batch: ProducerBatch, pieces: Sequence[ProducerBatch]) -> None:
        for one in self._each():
            one.batch_split(batch, pieces)

    def batch_expired(self, batch: ProducerBatch, error: ProducerError, was_in_flight: bool) -> None:
        for one in self._each():
            one.batch_expired(batch, error, was_in_flight)

    def connecting(self, connection: int, node: int) -> None:
        for one in self._each():
            one.connecting(connection, node)

    def connected(self, connection: int, node: int) -> None:
        for one in self._each():
            one.connected(connection, node)

    def request_sent(self, connection: int, request: ClientRequest) -> None:
        for one in self._each():
            one.request_sent(connection, request)

    def answer_received(self, connection: int, request: ClientRequest) -> None:
        for one in self._each():
            one.answer_received(connection, request)

    def disconnected(self, connection: int, node: int, is_own: bool, is_idle: bool) -> None:
        for one in self._each():
            one.disconnected(connection, node, is_own, is_idle)

    def responded(self, response: ClientResponse) -> None:
        for one in self._each():
            one.responded(response)

    def settled(self, metadata: Metadata, manager: TransactionManager | None) -> None:
        for one in self._each():
            one.settled(metadata, manager)
