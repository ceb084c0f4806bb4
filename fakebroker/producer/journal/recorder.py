"""The recorder of a producer's journal: a listener that turns events into values with times and numbers.

Theory   The journal is a ring, like the broker's: beyond its size the oldest events are dropped and counted. Producer
         ids and sequences change in many places, so they are compared where they are used.
Units    monotonic milliseconds; `wall_offset_ms` converts them to wall time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Final

from fakebroker.producer.client.frames import ProduceBody, ProduceResponse
from fakebroker.producer.client.sending import Sending
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.journal import events
from fakebroker.producer.journal.events import ProducerEvent
from fakebroker.producer.journal.listener import Listener
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.network.client_request import ClientRequest, ClientResponse
from fakebroker.producer.producer_batch import ProducerBatch, RecordMetadata
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.producer.transactions.transaction_manager import TransactionManager
from fakebroker.protocol.error_code import kafka_name
from fakebroker.protocol.messages import api_name

DEFAULT_SIZE: Final = 100_000
_NO_ERROR: Final = "NONE"
_NOTHING: Final = -1


class ProducerJournal(Listener):
    """The journal of one producer, set by its `listen`. It keeps the last `size` events; `dropped` counts those before.
    `on_event` receives each event. `name` defaults to the client id."""

    def __init__(
        self,
        client_id: str,
        name: str = "",
        size: int = DEFAULT_SIZE,
        wall_offset_ms: int = 0,
        on_event: Callable[[ProducerEvent], None] | None = None,
    ) -> None:
        super().__init__()
        self.client_id = client_id
        self.name = name or client_id
        self.size = size
        self.dropped = 0
        self._wall_offset_ms = wall_offset_ms
        self._on_event = on_event
        self._events: deque[ProducerEvent] = deque()
        self._record_numbers = count(1)
        self._batch_numbers = count(1)
        self._numbers: dict[Sending, int] = {}  # of records that have not ended
        self._blocked: dict[Sending, tuple[str, int]] = {}  # reason and start of the wait
        self._unanswered: dict[int, list[tuple[int, ClientRequest]]] = {}  # by connection: time and request
        self._connected: set[int] = set()
        self._metadata_version = 0
        self._producer = (_NOTHING, _NOTHING)

    def events(self) -> list[ProducerEvent]:
        """Return the kept events, oldest first."""
        return list(self._events)

    def __iter__(self) -> Iterator[ProducerEvent]:
        return iter(self.events())

    def __len__(self) -> int:
        return len(self._events)

    def __bool__(self) -> bool:
        return bool(self._events)

    def _record(self, kind: type[ProducerEvent], *values: object) -> None:
        event: ProducerEvent = kind(self.now_ms, self.now_ms + self._wall_offset_ms, self.name, *values)  # type: ignore[arg-type]
        self._events.append(event)
        if len(self._events) > self.size:
            self._events.popleft()
            self.dropped += 1
        if self._on_event is not None:
            self._on_event(event)

    # Records.

    def record_sent(self, sending: Sending) -> None:
        number = self._numbers[sending] = next(self._record_numbers)
        own = sending.callback
        topic, wanted = sending.topic, _NOTHING if sending.partition is None else sending.partition

        def called_back(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
            self._numbers.pop(sending, None)
            partition = metadata.partition.partition if metadata is not None else sending.partition
            offset = _NOTHING if metadata is None else metadata.offset
            told = _error_of(error), "" if error is None else str(error)
            self._record(
                events.RecordCalledBack, number, topic, wanted if partition is None else partition, *told, offset
            )
            if own is not None:
                own(metadata, error)

        sending.callback = called_back
        size = len(sending.key or b"") + len(sending.value or b"")
        self._record(events.RecordSent, number, topic, wanted, _text(sending.key), size)

    def record_blocked(self, sending: Sending, is_for_memory: bool) -> None:
        waits_for = "memory" if is_for_memory else "metadata"
        self._blocked[sending] = waits_for, self.now_ms
        self._record(events.RecordBlocked, self._numbers.get(sending, _NOTHING), waits_for)

    def record_unblocked(self, sending: Sending) -> None:
        blocked = self._blocked.pop(sending, None)
        if blocked is not None:
            waits_for, since_ms = blocked
            number = self._numbers.get(sending, _NOTHING)
            self._record(events.RecordUnblocked, number, waits_for, self.now_ms - since_ms)

    def record_appended(self, sending: Sending, batch: ProducerBatch, is_new_batch: bool) -> None:
        number = self._numbers.get(sending, _NOTHING)
        place = batch.record_count - 1
        self._record(events.RecordAppended, number, *batch.partition, self._batch(batch), place, is_new_batch)

    def record_refused(self, sending: Sending, error: ProducerError, is_thrown: bool) -> None:
        self.record_unblocked(sending)
        number = self._numbers.get(sending, _NOTHING)
        if is_thrown:
            del self._numbers[sending]
        self._record(events.RecordRefused, number, _error_of(error), str(error), is_thrown)

    # Batches.

    def batch_drained(self, batch: ProducerBatch, node: int) -> None:
        number = self._batch(batch)
        identity = batch.producer_id, batch.producer_epoch, batch.base_sequence
        before, batch.journal_identity = batch.journal_identity, identity
        if before is not None and before != identity:
            self._record(events.BatchResequenced, number, before[-1], batch.base_sequence)
        told = batch.record_count, batch.created_ms, batch.attempts
        self._record(events.BatchDrained, number, *batch.partition, node, *told, *identity)

    def batch_retried(self, batch: ProducerBatch, code: int) -> None:
        number, error = self._batch(batch), kafka_name(code)
        self._record(events.BatchRetried, number, *batch.partition, error, batch.attempts)

    def batch_split(self, batch: ProducerBatch, pieces: Sequence[ProducerBatch]) -> None:
        told = tuple((self._batch(piece), piece.record_count) for piece in pieces)
        self._record(events.BatchSplit, self._batch(batch), *batch.partition, told)

    def batch_expired(self, batch: ProducerBatch, error: ProducerError, was_in_flight: bool) -> None:
        told = batch.expired_since, str(error), was_in_flight
        self._record(events.BatchExpired, self._batch(batch), *batch.partition, *told)

    # The network.

    def connecting(self, connection: int, node: int) -> None:
        self._unanswered[connection] = []
        self._record(events.Connecting, connection, node)

    def connected(self, connection: int, node: int) -> None:
        self._connected.add(connection)
        self._record(events.Connected, connection, node)

    def request_sent(self, connection: int, request: ClientRequest) -> None:
        acks, timeout_ms = _NOTHING, _NOTHING
        batches: tuple[int, ...] = ()
        if isinstance(request.body, ProduceBody):
            asked = request.body.request
            acks, timeout_ms = asked.acks, asked.timeout_ms
            batches = tuple(self._batch(batch) for _, batch in asked.batches.items())
        if request.expects_response:
            self._unanswered.setdefault(connection, []).append((self.now_ms, request))
        self._record(
            events.RequestSent,
            connection,
            request.node,
            self.client_id,
            request.correlation_id,
            api_name(request.api_key),
            request.version,
            acks,
            timeout_ms,
            batches,
        )

    def answer_received(self, connection: int, request: ClientRequest) -> None:
        unanswered = self._unanswered.get(connection, [])
        self._unanswered[connection] = [one for one in unanswered if one[1] is not request]
        self._record(events.AnswerReceived, connection, request.node, request.correlation_id)

    def disconnected(self, connection: int, node: int, is_own: bool, is_idle: bool) -> None:
        unanswered = self._unanswered.pop(connection, [])
        was_connected = connection in self._connected
        self._connected.discard(connection)
        reason = "lost"
        if is_idle:
            reason = "idle"
        elif is_own and any(self.now_ms - sent_ms > request.timeout_ms for sent_ms, request in unanswered):
            reason = "no answer in time"
        elif is_own:
            reason = "closed" if was_connected else "not connected in time"
        correlation_ids = tuple(request.correlation_id for _, request in unanswered)
        self._record(events.Disconnected, connection, node, reason, correlation_ids)

    def responded(self, response: ClientResponse) -> None:
        request, body = response.request, response.body
        partitions: tuple[tuple[str, int, str, int], ...] = ()
        outcome = "answered" if request.expects_response else "none"
        if response.was_disconnected:
            outcome = "timed out" if response.was_timed_out else "disconnected"
        elif response.version_mismatch is not None:
            outcome = "no version"
        elif isinstance(body, ProduceResponse):
            partitions = tuple((*one.partition, kafka_name(one.code), one.base_offset) for one in body.answers)
        self._record(events.ResponseHandled, request.node, request.correlation_id, outcome, partitions)

    # Metadata and producer id.

    def settled(self, metadata: Metadata, manager: TransactionManager | None) -> None:
        if metadata.update_version != self._metadata_version:
            self._metadata_version = metadata.update_version
            nodes = tuple(node.node_id for node in metadata.fetch().nodes)
            self._record(events.MetadataUpdated, metadata.update_version, nodes)
        if manager is not None:
            producer = manager.producer_id_and_epoch
            found = int(producer[0]), int(producer[1])
            if found != self._producer:
                self._producer = found
                self._record(events.ProducerIdChanged, *found)

    def _batch(self, batch: ProducerBatch) -> int:
        if not batch.journal_number:
            batch.journal_number = next(self._batch_numbers)
        return batch.journal_number


def _error_of(error: ProducerError | None) -> str:
    if error is None:
        return _NO_ERROR
    if isinstance(error, BrokerError):
        return kafka_name(error.code)
    return type(error).__name__


def _text(key: bytes | None) -> str | None:
    return None if key is None else key.decode("utf-8", "backslashreplace")
