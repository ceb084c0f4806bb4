"""Who hears what a producer does: points with names, at which nothing happens unless somebody listens.

Theory   The producer looks whether there is a listener, and tells it. A listener decides nothing: with one and without
         one a producer does the same. `now_ms` is set by the doors, before anything happens at that time.
Units    monotonic milliseconds.
Source   none of Kafka's: its producer tells the like in its log, at the level of TRACE.
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
    """Hears everything and does nothing. `connection` is the number that the producer's effects have."""

    def __init__(self) -> None:
        self.now_ms = 0

    # Records.

    def record_sent(self, sending: Sending) -> None:
        """`send` was called. The listener may put another callback in place of that of the record, and has to call
        it."""

    def record_blocked(self, sending: Sending, is_for_memory: bool) -> None:
        """Who sends it waits: for memory, or for metadata."""

    def record_unblocked(self, sending: Sending) -> None:
        """It waits no more, if it did: it goes on, or is refused."""

    def record_appended(self, sending: Sending, batch: ProducerBatch, is_new_batch: bool) -> None:
        """It is the last of a batch."""

    def record_refused(self, sending: Sending, error: ProducerError, is_thrown: bool) -> None:
        """It never gets into a request. If that is thrown at the caller, there is no callback."""

    # Batches.

    def batch_drained(self, batch: ProducerBatch, node: int) -> None:
        """It is taken out of its queue, to be sent to a node, unless it expires first."""

    def batch_retried(self, batch: ProducerBatch, code: int) -> None:
        """An attempt failed with that error of Kafka's, and it is in its queue again."""

    def batch_split(self, batch: ProducerBatch, pieces: Sequence[ProducerBatch]) -> None:
        """It was too large for the broker. Its records are in the pieces, in order."""

    def batch_expired(self, batch: ProducerBatch, error: ProducerError, was_in_flight: bool) -> None:
        """It has waited too long. Its records are called back next."""

    # The network.

    def connecting(self, connection: int, node: int) -> None:
        """A connection begins to be made."""

    def connected(self, connection: int, node: int) -> None:
        """It is there."""

    def request_sent(self, connection: int, request: ClientRequest) -> None:
        """The bytes of a request are given to the connection."""

    def answer_received(self, connection: int, request: ClientRequest) -> None:
        """The last byte of an answer is there; the sender may look at it later."""

    def disconnected(self, connection: int, node: int, is_own: bool, is_idle: bool) -> None:
        """The connection is gone, and what waits there for an answer gets none. `is_own`: the producer closed it.
        `is_idle`: because it was not used for `connections.max.idle.ms`."""

    def responded(self, response: ClientResponse) -> None:
        """The sender is about to look at what came of a request."""

    # What is known.

    def settled(self, metadata: Metadata, manager: TransactionManager | None) -> None:
        """Metadata, or who the producer is, may have changed."""
