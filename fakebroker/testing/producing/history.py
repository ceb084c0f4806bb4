"""A producer in virtual time as seen by the judge of histories: its records and results.

    history = ProducerHistory()
    producer = producers.add(config, history=history)
    ...
    findings = history.check(journal)                # the brokers' journal

Theory   A record that was never drained was never sent, so its error is definite. So is a broker error that excludes a
         write, if the batch was drained once. A batch that expires may have been sent in the same turn, as in Kafka.
         With acks=0 nothing is acknowledged.
"""

from __future__ import annotations

from collections.abc import Sequence

from fakebroker.producer.client.sending import Sending
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.journal.listener import Listener
from fakebroker.producer.producer_batch import ProducerBatch, RecordMetadata
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.protocol.error_code import kafka_name
from fakebroker.testing.producers.calls import Call
from fakebroker.testing.producers.judge import ProducerHistory


class _Tried:
    """The number of drains of a batch and its pieces, and the number of its records that have not ended."""

    def __init__(self) -> None:
        self.tries = 0
        self.open = 0
        self.batches: list[ProducerBatch] = []


class HistoryListener(Listener):
    """A listener that reports the records of one producer to the history; `client` is its name there."""

    def __init__(self, history: ProducerHistory, config: ProducerConfig, client: str = "") -> None:
        super().__init__()
        history.producers += 1
        self._history = history
        self._acks = config.acks
        self._client = client or config.client_id or f"producer {history.producers}"
        self._calls: dict[Sending, Call] = {}  # of records that have not ended
        self._tried: dict[ProducerBatch, _Tried] = {}
        self._tried_of: dict[Sending, _Tried] = {}

    def record_sent(self, sending: Sending) -> None:
        theirs = sending.callback
        call = self._history.invokes(self._client, sending.topic, sending.value, sending.key, sending.headers)
        self._calls[sending] = call

        def told(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
            self._tell(call, self._ended(sending), metadata, error)
            if theirs is not None:
                theirs(metadata, error)

        sending.callback = told

    def record_appended(self, sending: Sending, batch: ProducerBatch, is_new_batch: bool) -> None:
        tried = self._tried.get(batch)
        if tried is None:
            tried = self._tried[batch] = _Tried()
            tried.batches.append(batch)
        tried.open += 1
        self._tried_of[sending] = tried

    def record_refused(self, sending: Sending, error: ProducerError, is_thrown: bool) -> None:
        if is_thrown:
            self._tell(self._calls[sending], self._ended(sending), None, error)

    def batch_drained(self, batch: ProducerBatch, node: int) -> None:
        self._tried[batch].tries += 1

    def batch_split(self, batch: ProducerBatch, pieces: Sequence[ProducerBatch]) -> None:
        tried = self._tried[batch]
        for piece in pieces:
            self._tried[piece] = tried
            tried.batches.append(piece)

    def _ended(self, sending: Sending) -> int:
        """Forget a record that has ended. Return the number of drains of its batch."""
        del self._calls[sending]
        tried = self._tried_of.pop(sending, None)
        if tried is None:
            return 0
        tried.open -= 1
        if not tried.open:
            for batch in tried.batches:
                del self._tried[batch]
        return tried.tries

    def _tell(self, call: Call, tries: int, metadata: RecordMetadata | None, error: ProducerError | None) -> None:
        if error is None:
            assert metadata is not None
            if self._acks == 0:
                call.unknown("acks=0")
            else:
                call.ok(metadata.partition.partition if metadata.offset >= 0 else -1, metadata.offset)
        elif not tries:
            call.refused(_name(error))
        elif isinstance(error, BrokerError):
            call.failed(_name(error), tries)
        else:
            call.unknown(_name(error))


def _name(error: ProducerError) -> str:
    return kafka_name(error.code) if isinstance(error, BrokerError) else type(error).__name__
