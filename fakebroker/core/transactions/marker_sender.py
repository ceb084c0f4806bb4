"""Send the transaction markers of decided transactions to the leaders of their partitions, until all are written.

Theory   Once a decision is replicated, each partition's leader gets a marker. A marker that cannot be written now is
         sent again: another broker leads by then, or too few replicas are in sync. A partition that no longer exists,
         or has no leader, is left out: there the transaction hangs. When no partition is left the transaction is
         complete, which is written as well. A broker gets one request at a time
         (max.in.flight.requests.per.connection=1 between brokers). A marker that cannot be replicated holds up all
         markers behind it, for request.timeout.ms at most. Very many partitions are sorted by their leaders in slices.
Units    milliseconds.
Source   core/.../coordinator/transaction/{TransactionMarkerChannelManager,TransactionMarkerRequestCompletionHandler}
         .scala @ 4.4.
Differs  No thread: a retry comes after a fixed delay, which in Kafka is not known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, Protocol, final

from fakebroker.core.transactions.metadata import TransactionMetadata, TransitMetadata
from fakebroker.core.transactions.state_manager import TransactionStateManager
from fakebroker.core.transactions.transit import by_topic
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.transaction_records.control_records import COMMIT, EndTransactionMarker
from timingwheel.mypyc import mypyc_attr

_NO_ERROR: Final = ErrorCode.none
_REQUESTS_AT_ONCE: Final = 4  # to one broker, of those that waited
_PARTITIONS_OF_A_SLICE: Final = 256

_AGAIN: Final = frozenset(
    {
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.not_leader_or_follower,
        ErrorCode.not_enough_replicas,
        ErrorCode.not_enough_replicas_after_append,
        ErrorCode.request_timed_out,
        ErrorCode.kafka_storage_error,
        ErrorCode.network_exception,  # the broker stopped before it responded: wasDisconnected
    }
)


@mypyc_attr(acyclic=True)
@final
class TxnMarkerEntry:
    """The request to one leader to write markers."""

    __slots__ = ("marker", "partitions", "producer_epoch", "producer_id", "transaction_version")

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int,
        marker: EndTransactionMarker,
        transaction_version: int,
        partitions: tuple[TopicPartition, ...],
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.marker = marker
        self.transaction_version = transaction_version
        self.partitions = partitions


@mypyc_attr(acyclic=True)
@final
class PendingCompleteTxn:
    """A decided transaction, and its state when all markers are written."""

    __slots__ = ("complete", "coordinator_epoch", "transaction", "transactional_id")

    def __init__(
        self,
        transactional_id: str,
        coordinator_epoch: int,
        transaction: TransactionMetadata,
        complete: TransitMetadata,
    ) -> None:
        self.transactional_id = transactional_id
        self.coordinator_epoch = coordinator_epoch
        self.transaction = transaction
        self.complete = complete


class MarkerChannel(Protocol):
    """The interface to the other brokers."""

    def leader_of(self, partition: TopicPartition) -> int | None:
        """Return the leader, or None if the partition does not exist or has none now."""

    def send(
        self, broker_id: int, entry: TxnMarkerEntry, answered: Callable[[Mapping[TopicPartition, ErrorCode]], None]
    ) -> bool:
        """Send markers to a broker. Return False if it is not there."""

    def in_slices(self, where: str, slices: Slices[None]) -> None:
        """Run the first slice now, the others between other work. `where` is reported with a bug."""

    def again_later(self, action: Callable[[], None]) -> None:
        """Call `action` after a short delay."""


class _Lane:
    """The queue to one broker: the entries that wait for the response to the request in flight."""

    __slots__ = ("is_busy", "is_sending", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[tuple[PendingCompleteTxn, TxnMarkerEntry]] = deque()
        self.is_busy = False
        self.is_sending = False


@final
class MarkerSender:
    """The marker sender of one coordinator."""

    def __init__(self, states: TransactionStateManager, channel: MarkerChannel) -> None:
        self._states = states
        self._channel = channel
        self._pending: dict[str, PendingCompleteTxn] = {}
        self._lanes: dict[int, _Lane] = {}  # by broker

    @property
    def pending(self) -> list[PendingCompleteTxn]:
        return list(self._pending.values())

    def add(
        self, coordinator_epoch: int, marker_type: int, transaction: TransactionMetadata, complete: TransitMetadata
    ) -> None:
        """Send the markers of a written decision."""
        pending = PendingCompleteTxn(transaction.transactional_id, coordinator_epoch, transaction, complete)
        self._pending[transaction.transactional_id] = pending
        self._send(pending, marker_type, transaction.now.partitions)

    def remove(self, is_of_partition: Callable[[str], bool]) -> None:
        """Drop the transactions that another broker coordinates now."""
        if not self._pending:
            return
        for transactional_id in [id_ for id_ in self._pending if is_of_partition(id_)]:
            del self._pending[transactional_id]

    def _is_pending(self, pending: PendingCompleteTxn) -> bool:
        return self._pending.get(pending.transactional_id) is pending

    def _send(self, pending: PendingCompleteTxn, marker_type: int, partitions: frozenset[TopicPartition]) -> None:
        if len(partitions) > _PARTITIONS_OF_A_SLICE:
            self._channel.in_slices("sending markers", self._send_in_slices(pending, marker_type, partitions))
            return
        by_leader: dict[int | None, list[TopicPartition]] = {}
        for partition in sorted(partitions) if len(partitions) > 1 else partitions:
            by_leader.setdefault(self._channel.leader_of(partition), []).append(partition)
        self._send_to_leaders(pending, marker_type, by_leader)

    def _send_in_slices(
        self, pending: PendingCompleteTxn, marker_type: int, partitions: frozenset[TopicPartition]
    ) -> Slices[None]:
        by_leader: dict[int | None, list[TopicPartition]] = {}
        looked_at = 0
        now = pending.transaction.now
        for topic, indexes in now.by_topic if partitions is now.partitions else by_topic(partitions):
            for index in indexes:
                partition = TopicPartition(topic, index)
                by_leader.setdefault(self._channel.leader_of(partition), []).append(partition)
                looked_at += 1
                if looked_at % _PARTITIONS_OF_A_SLICE == 0:
                    yield
        if self._is_pending(pending):
            self._send_to_leaders(pending, marker_type, by_leader)

    def _send_to_leaders(
        self, pending: PendingCompleteTxn, marker_type: int, by_leader: Mapping[int | None, list[TopicPartition]]
    ) -> None:
        now = pending.transaction.now
        marker = EndTransactionMarker(marker_type, pending.coordinator_epoch)
        for leader_id, led in by_leader.items():
            if leader_id is None:
                pending.transaction.remove_partitions(led)  # Kafka takes them for deleted, which need no marker
                continue
            entry = TxnMarkerEntry(now.producer_id, now.producer_epoch, marker, now.transaction_version, tuple(led))
            lane = self._lanes.get(leader_id)
            if lane is None:
                lane = self._lanes[leader_id] = _Lane()
            lane.waiting.append((pending, entry))
            self._send_next(leader_id, lane)
        self._maybe_complete(pending)

    def _send_next(self, leader_id: int, lane: _Lane) -> None:
        """Send waiting entries to a broker, as long as it responds at once."""
        if lane.is_sending:
            return
        self._send_some(leader_id, lane)
        if lane.waiting and not lane.is_busy:
            lane.is_sending = True
            self._channel.in_slices("sending markers", self._send_on(leader_id, lane))

    def _send_on(self, leader_id: int, lane: _Lane) -> Slices[None]:
        try:
            while lane.waiting and not lane.is_busy:
                yield
                self._send_some(leader_id, lane)
        finally:
            lane.is_sending = False

    def _send_some(self, leader_id: int, lane: _Lane) -> None:
        lane.is_sending, was_sending = True, lane.is_sending
        sent = 0
        try:
            while lane.waiting and not lane.is_busy and sent < _REQUESTS_AT_ONCE:
                pending, entry = lane.waiting.popleft()
                if self._is_pending(pending):
                    self._send_to(leader_id, lane, pending, entry)
                    sent += 1
        finally:
            lane.is_sending = was_sending

    def _send_to(self, leader_id: int, lane: _Lane, pending: PendingCompleteTxn, entry: TxnMarkerEntry) -> None:
        marker_type = entry.marker.control_type

        def answered(errors: Mapping[TopicPartition, ErrorCode]) -> None:
            lane.is_busy = False
            self._answered(pending, marker_type, errors)
            self._send_next(leader_id, lane)

        lane.is_busy = True
        self._states.points.markers_sent(pending.transaction, leader_id, marker_type == COMMIT, entry.partitions)
        if not self._channel.send(leader_id, entry, answered):
            lane.is_busy = False
            self._again(pending, marker_type, frozenset(entry.partitions), f"broker {leader_id} is not there")

    def _again(
        self, pending: PendingCompleteTxn, marker_type: int, partitions: frozenset[TopicPartition], reason: str
    ) -> None:
        self._states.points.markers_retried(pending.transactional_id, partitions, reason)

        def send() -> None:
            if self._is_pending(pending):
                self._send(pending, marker_type, partitions)

        self._channel.again_later(send)

    def _answered(
        self, pending: PendingCompleteTxn, marker_type: int, errors: Mapping[TopicPartition, ErrorCode]
    ) -> None:
        """Process a response (TransactionMarkerRequestCompletionHandler.onComplete)."""
        if not self._is_pending(pending) or not self._is_current(pending):
            return
        for code in errors.values():
            if code is not _NO_ERROR:
                break
        else:
            pending.transaction.remove_partitions(errors.keys())
            self._maybe_complete(pending)
            return
        codes = set(errors.values())
        if codes & {ErrorCode.invalid_producer_epoch, ErrorCode.transaction_coordinator_fenced}:
            del self._pending[pending.transactional_id]  # another coordinator has gone on with it
            return
        unexpected = codes - _AGAIN - {_NO_ERROR}
        assert not unexpected, f"markers of {pending.transactional_id}: {unexpected}"
        pending.transaction.remove_partitions([partition for partition, code in errors.items() if code is _NO_ERROR])
        for again in sorted(codes & _AGAIN):
            partitions = frozenset(partition for partition, code in errors.items() if code is again)
            self._again(pending, marker_type, partitions, kafka_name(again))
        self._maybe_complete(pending)

    def _is_current(self, pending: PendingCompleteTxn) -> bool:
        try:
            cached = self._states.find(pending.transactional_id)
        except KafkaError:
            cached = None
        if cached is not None and cached.coordinator_epoch == pending.coordinator_epoch:
            return True
        self._pending.pop(pending.transactional_id, None)
        return False

    def _maybe_complete(self, pending: PendingCompleteTxn) -> None:
        if self._is_pending(pending) and not pending.transaction.now.partitions:
            del self._pending[pending.transactional_id]
            if self._is_current(pending):
                self._complete(pending)

    def _complete(self, pending: PendingCompleteTxn) -> None:
        def written(error: ErrorCode) -> None:
            if error is ErrorCode.coordinator_not_available:
                self._channel.again_later(lambda: self._complete(pending))
            else:
                assert error in (
                    _NO_ERROR, ErrorCode.not_coordinator, ErrorCode.coordinator_load_in_progress,
                ), f"the end of {pending.transactional_id}: {error}"  # fmt: skip

        self._states.append(
            pending.transactional_id,
            pending.coordinator_epoch,
            pending.complete,
            "all markers are written",
            written,
            lambda error: error is ErrorCode.coordinator_not_available,
        )
