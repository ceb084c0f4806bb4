"""The listener of a producer: named probe points, which cost nothing without a listener.

Theory   The producer calls its listener if there is one. A listener decides nothing: the producer does the same without
         it. The producer's calls set `now_ms` before any event of that time.
Units    monotonic milliseconds.
Source   none of Kafka's: its producer logs similar events at level TRACE.
"""

from __future__ import annotations

from collections.abc import Sequence

from fakebroker.producer.client.sending import Sending
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.network.client_request import ClientRequest, ClientResponse
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.transactions.transaction_manager import TransactionManager
from timingwheel.mypyc import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Listener:
    """A listener that ignores all events. `connection` is the connection number of the producer's effects."""

    def __init__(self) -> None:
        self.now_ms = 0

    # Records.

    def record_sent(self, sending: Sending) -> None:
        """Receive a call of `send`. The listener may replace the record's callback, and its own one must call the
        original."""

    def record_blocked(self, sending: Sending, is_for_memory: bool) -> None:
        """Receive the start of a wait for memory or for metadata."""

    def record_unblocked(self, sending: Sending) -> None:
        """Receive the end of the wait, if there was one. The record continues or is refused."""

    def record_appended(self, sending: Sending, batch: ProducerBatch, is_new_batch: bool) -> None:
        """Receive the append of a record: it is the last one of the batch."""

    def record_refused(self, sending: Sending, error: ProducerError, is_thrown: bool) -> None:
        """Receive the refusal of a record. If the error is thrown at the caller, there is no callback."""

    # Batches.

    def batch_drained(self, batch: ProducerBatch, node: int) -> None:
        """Receive the drain of a batch. It is sent to the node next, unless it expires first."""

    def batch_retried(self, batch: ProducerBatch, code: int) -> None:
        """Receive a failed attempt with Kafka's error code. The batch is in its queue again."""

    def batch_split(self, batch: ProducerBatch, pieces: Sequence[ProducerBatch]) -> None:
        """Receive the split of a batch that was too large for the broker. The pieces have its records, in order."""

    def batch_expired(self, batch: ProducerBatch, error: ProducerError, was_in_flight: bool) -> None:
        """Receive the expiry of a batch. The callbacks of its records come next."""

    # The network.

    def connecting(self, connection: int, node: int) -> None:
        """Receive the start of an attempt to connect."""

    def connected(self, connection: int, node: int) -> None:
        """Receive the success of an attempt to connect."""

    def request_sent(self, connection: int, request: ClientRequest) -> None:
        """Receive a request of which the bytes were passed to the connection."""

    def answer_received(self, connection: int, request: ClientRequest) -> None:
        """Receive the complete arrival of a response. The sender may handle it later."""

    def disconnected(self, connection: int, node: int, is_own: bool, is_idle: bool) -> None:
        """Receive the end of a connection; its requests get no response. `is_own`: the producer closed it. `is_idle`:
        it was idle for `connections.max.idle.ms`."""

    def responded(self, response: ClientResponse) -> None:
        """Receive the outcome of a request, just before the sender handles it."""

    # Metadata and producer id.

    def settled(self, metadata: Metadata, manager: TransactionManager | None) -> None:
        """Receive a possible change of the metadata or of the producer id."""
