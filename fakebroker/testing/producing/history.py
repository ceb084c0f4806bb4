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

from typing import Final

from fakebroker.producer.client.sending import Sending
from fakebroker.producer.journal.events import (
    NO_ERROR,
    BatchDrained,
    BatchSplit,
    ProducerEvent,
    RecordAppended,
    RecordCalledBack,
    RecordRefused,
    RecordSent,
)
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.testing.producers.calls import ProducerCall
from fakebroker.testing.producers.judge import ProducerHistory


class _BatchTries:
    """The number of drains of a batch and its pieces, and the number of its records that have not ended."""

    def __init__(self) -> None:
        self.tries = 0
        self.open = 0
        self.batches: list[int] = []


class HistoryListener:
    """A listener that reports the records of one producer to the history: give `hear` to its `listen`, for `kinds`.
    `client` is its name in the history."""

    kinds: Final = (RecordSent, RecordAppended, RecordRefused, RecordCalledBack, BatchDrained, BatchSplit)

    def __init__(self, history: ProducerHistory, config: ProducerConfig, client: str = "") -> None:
        history.producers += 1
        self._history = history
        self._acks = config.acks
        self._client = client or config.client_id or f"producer {history.producers}"
        self._calls: dict[int, ProducerCall] = {}  # of records that have not ended
        self._tried: dict[int, _BatchTries] = {}  # by batch
        self._tried_of: dict[int, _BatchTries] = {}  # by record

    def hear(self, event: ProducerEvent, subject: object) -> None:
        match event:
            case RecordSent():
                assert isinstance(subject, Sending)
                call = self._history.invokes(self._client, event.topic, subject.value, subject.key, subject.headers)
                self._calls[event.record] = call
            case RecordAppended():
                self._appended(event)
            case RecordCalledBack() | RecordRefused(is_thrown=True):
                self._ended(event, isinstance(subject, BrokerError))
            case BatchDrained():
                self._tried[event.batch].tries += 1
            case BatchSplit():
                self._split(event)

    def _appended(self, event: RecordAppended) -> None:
        tried = self._tried.get(event.batch)
        if tried is None:
            tried = self._tried[event.batch] = _BatchTries()
            tried.batches.append(event.batch)
        tried.open += 1
        self._tried_of[event.record] = tried

    def _split(self, event: BatchSplit) -> None:
        tried = self._tried[event.batch]
        for piece, _ in event.pieces:
            self._tried[piece] = tried
            tried.batches.append(piece)

    def _ended(self, event: RecordCalledBack | RecordRefused, is_of_broker: bool) -> None:
        """Report the result of a record, and forget it."""
        call, tries = self._calls.pop(event.record), self._forget(event.record)
        if isinstance(event, RecordCalledBack) and event.error == NO_ERROR:
            if self._acks == 0:
                call.unknown("acks=0")
            else:
                call.ok(event.partition if event.offset >= 0 else -1, event.offset)
        elif not tries:
            call.refused(event.error)
        elif is_of_broker:
            call.failed(event.error, tries)
        else:
            call.unknown(event.error)

    def _forget(self, record: int) -> int:
        """Forget a record, and its batch if all records of it have ended. Return the number of drains of its batch."""
        tried = self._tried_of.pop(record, None)
        if tried is None:
            return 0
        tried.open -= 1
        if not tried.open:
            for batch in tried.batches:
                del self._tried[batch]
        return tried.tries
