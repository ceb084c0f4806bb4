"""The transaction coordinator of one broker: the requests of producers.

Theory   A producer gets the producer id of its transactional id, with an epoch that fences the previous producer
         (InitProducerId). It names the partitions that it will write to (AddPartitionsToTxn; since version 2 the
         partitions' leaders do that for it), and asks for a decision (EndTxn). The response comes once the decision is
         replicated; the transaction markers are written after it. A request during another change gets
         CONCURRENT_TRANSACTIONS.
Units    times are wall milliseconds.
Source   core/.../coordinator/transaction/TransactionCoordinator.scala @ 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from fakebroker.core.clock import Now
from fakebroker.core.transactions.ending import (
    NOBODY,
    End,
    ProducerIdAndEpoch,
    TransactionUnchanged,
    decision,
    prepare_end,
)
from fakebroker.core.transactions.marker_sender import MarkerSender
from fakebroker.core.transactions.metadata import (
    EPOCH_BUMP,
    MAX_EPOCH,
    NONE,
    TransactionMetadata,
    TransitMetadata,
)
from fakebroker.core.transactions.state_manager import CoordinatorEpochAndTxnMetadata, TransactionStateManager
from fakebroker.core.transactions.states import ONGOING, PREPARE_ABORT, PREPARE_COMMIT, PREPARE_EPOCH_FENCE
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.transaction_records.control_records import ABORT, COMMIT

_NO_ERROR: Final = ErrorCode.none
_DECIDED: Final = (PREPARE_COMMIT, PREPARE_ABORT)


ProducerThen = Callable[[ErrorCode, ProducerIdAndEpoch], None]
Then = Callable[[ErrorCode], None]


@final
class TransactionCoordinator:
    """The coordinator of one broker. `transaction_version` is that of the cluster, whatever its clients use. Each
    operation calls its `then` once, now or later."""

    def __init__(
        self,
        states: TransactionStateManager,
        marker_sender: MarkerSender,
        generate_producer_id: Callable[[], int],
        transaction_version: Callable[[], int],
        max_timeout_ms: Callable[[], int],
        now: Callable[[], Now],
    ) -> None:
        self.states = states
        self.marker_sender = marker_sender
        self._generate_producer_id = generate_producer_id
        self._transaction_version = transaction_version
        self._max_timeout_ms = max_timeout_ms
        self._now = now

    # InitProducerId.

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdAndEpoch | None, then: ProducerThen
    ) -> None:
        """Give a producer its id and the next epoch. An open transaction is aborted first, and the producer has to
        retry. `expected` is its present id and epoch, if it goes on (KIP-360)."""
        try:
            cached, transit = self._prepare_init(transactional_id, timeout_ms, expected)
        except (KafkaError, TransactionUnchanged) as answer:
            self._refused(answer.code, transactional_id, expected or NOBODY, "InitProducerId")
            then(answer.code, NOBODY)
            return
        if transit.state is PREPARE_EPOCH_FENCE:
            self.states.points.prepared(cached.transaction, transit, "another producer begins with the same id")

            def aborted(error: ErrorCode, _: ProducerIdAndEpoch) -> None:
                then(ErrorCode.concurrent_transactions if error is _NO_ERROR else error, NOBODY)

            self._end(
                transactional_id,
                ProducerIdAndEpoch(transit.producer_id, transit.producer_epoch),
                ABORT,
                self._transaction_version(),
                aborted,
                "the producer was fenced",
            )
            return

        def written(error: ErrorCode) -> None:
            given = ProducerIdAndEpoch(transit.producer_id, transit.producer_epoch)
            then(error, given if error is _NO_ERROR else NOBODY)

        self.states.append(transactional_id, cached.coordinator_epoch, transit, "InitProducerId", written)

    def _prepare_init(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdAndEpoch | None
    ) -> tuple[CoordinatorEpochAndTxnMetadata, TransitMetadata]:
        if not transactional_id:
            raise TransactionUnchanged(ErrorCode.invalid_request)
        if not 0 < timeout_ms <= self._max_timeout_ms():
            raise TransactionUnchanged(ErrorCode.invalid_transaction_timeout)
        now_ms = self._now().wall_ms
        cached = self.states.find(transactional_id)
        if cached is None:
            producer_id = self._generate_producer_id()
            cached = self.states.put_if_not_there(
                TransactionMetadata.empty(transactional_id, producer_id, timeout_ms, now_ms)
            )
        transaction, now = cached.transaction, cached.transaction.now
        if transaction.pending_state is not None:
            raise TransactionUnchanged(ErrorCode.concurrent_transactions)
        if expected is not None and not _may_go_on(now, expected):
            raise TransactionUnchanged(ErrorCode.producer_fenced)
        if now.state in _DECIDED:
            raise TransactionUnchanged(ErrorCode.concurrent_transactions)
        if now.state is ONGOING:
            return cached, transaction.prepare_fence_producer_epoch()
        expected_epoch = None if expected is None else expected.producer_epoch
        if transaction.is_epoch_exhausted and expected_epoch in (None, now.producer_epoch):
            producer_id = self._generate_producer_id()
            return cached, transaction.prepare_producer_id_rotation(
                producer_id, timeout_ms, now_ms, record_last_epoch=expected is not None
            )
        return cached, transaction.prepare_increment_producer_epoch(timeout_ms, expected_epoch, now_ms)

    # AddPartitionsToTxn.

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: frozenset[TopicPartition],
        transaction_version: int,
        then: Then,
        api: str = "AddPartitionsToTxn",
    ) -> None:
        """Add partitions to the transaction. `then` is called when that is replicated."""
        try:
            cached = self._found_of(transactional_id, producer, waits_for_change=True)
            transaction, now = cached.transaction, cached.transaction.now
            if now.state in _DECIDED:
                raise TransactionUnchanged(ErrorCode.concurrent_transactions)
            if now.state is ONGOING and partitions <= now.partitions:
                raise TransactionUnchanged(_NO_ERROR)
        except (KafkaError, TransactionUnchanged) as answer:
            self._refused(answer.code, transactional_id, producer, api)
            then(answer.code)
            return
        transit = transaction.prepare_add_partitions(partitions, self._now().wall_ms, transaction_version)
        self.states.append(transactional_id, cached.coordinator_epoch, transit, api, then)

    def verify_partitions(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: frozenset[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Return the error of each partition, NONE if it is in the transaction, before a leader's first append."""
        try:
            cached = self._found_of(transactional_id, producer)
            if cached.transaction.now.state in _DECIDED:
                raise TransactionUnchanged(ErrorCode.concurrent_transactions)
        except (KafkaError, TransactionUnchanged) as answer:
            self._refused(answer.code, transactional_id, producer, "AddPartitionsToTxn")
            return dict.fromkeys(partitions, answer.code)
        added = cached.transaction.now.partitions
        return {
            partition: _NO_ERROR if partition in added else ErrorCode.transaction_abortable for partition in partitions
        }

    def _found_of(
        self, transactional_id: str, producer: ProducerIdAndEpoch, waits_for_change: bool = False
    ) -> CoordinatorEpochAndTxnMetadata:
        """Return a valid producer's transaction. `waits_for_change`: refuse a pending change before any fencing."""
        if not transactional_id:
            raise TransactionUnchanged(ErrorCode.invalid_request)
        cached = self.states.find(transactional_id)
        if cached is not None and waits_for_change and cached.transaction.pending_state is not None:
            raise TransactionUnchanged(ErrorCode.concurrent_transactions)
        if cached is None or cached.transaction.now.producer_id != producer.producer_id:
            raise TransactionUnchanged(ErrorCode.invalid_producer_id_mapping)
        if cached.transaction.now.producer_epoch != producer.producer_epoch:
            raise TransactionUnchanged(ErrorCode.producer_fenced)
        return cached

    # EndTxn.

    def end_transaction(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        result: int,
        transaction_version: int,
        then: ProducerThen,
    ) -> None:
        """Commit or abort. With version 2 the response has the producer's next epoch."""
        self._end(transactional_id, producer, result, transaction_version, then, "EndTxn", is_from_client=True)

    def _end(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        result: int,
        transaction_version: int,
        then: ProducerThen,
        reason: str,
        is_from_client: bool = False,
    ) -> None:
        transaction: TransactionMetadata | None = None
        try:
            if not transactional_id:
                raise TransactionUnchanged(ErrorCode.invalid_request)
            cached = self.states.find(transactional_id)
            if cached is None:
                raise TransactionUnchanged(ErrorCode.invalid_producer_id_mapping)
            transaction = cached.transaction
            is_fence = transaction.pending_state is PREPARE_EPOCH_FENCE
            end = End(producer, result, transaction_version, is_from_client, self._now().wall_ms)
            transit = prepare_end(transaction, end, self._generate_producer_id)
        except (KafkaError, TransactionUnchanged) as answer:
            self._refused(answer.code, transactional_id, producer, reason)
            given = NOBODY
            if answer.code is _NO_ERROR and transaction is not None:
                given = ProducerIdAndEpoch(transaction.now.producer_id, transaction.now.producer_epoch)
            then(answer.code, given)
            return

        def decided(error: ErrorCode) -> None:
            if error is _NO_ERROR:
                self._send_markers(transactional_id, cached.coordinator_epoch, producer, result, then)
                return
            if is_fence:
                try:
                    current = self.states.find(transactional_id)
                except KafkaError:
                    current = None
                if current is not None and current.coordinator_epoch == cached.coordinator_epoch:
                    current.transaction.has_failed_epoch_fence = True
            then(error, NOBODY)

        self.states.append(transactional_id, cached.coordinator_epoch, transit, reason, decided)

    def _send_markers(
        self,
        transactional_id: str,
        coordinator_epoch: int,
        producer: ProducerIdAndEpoch,
        result: int,
        then: ProducerThen,
    ) -> None:
        """Respond to the producer after the decision is replicated, and send the transaction markers."""
        try:
            cached = self.states.find(transactional_id)
            assert cached is not None
            if cached.coordinator_epoch != coordinator_epoch:
                raise TransactionUnchanged(ErrorCode.not_coordinator)
            transaction, now = cached.transaction, cached.transaction.now
            if now.producer_id != producer.producer_id:
                raise TransactionUnchanged(ErrorCode.invalid_producer_id_mapping)
            bumped = now.transaction_version >= EPOCH_BUMP and now.producer_epoch == producer.producer_epoch + 1
            if now.producer_epoch != producer.producer_epoch and not bumped:
                raise TransactionUnchanged(ErrorCode.producer_fenced)
            if transaction.pending_state is not None:
                raise TransactionUnchanged(ErrorCode.concurrent_transactions)
            if now.state is not decision(result):
                raise TransactionUnchanged(ErrorCode.invalid_txn_state)
        except (KafkaError, TransactionUnchanged) as answer:
            then(answer.code, NOBODY)
            return
        complete = transaction.prepare_complete(self._now().wall_ms)
        has_next_epoch = now.transaction_version >= EPOCH_BUMP
        then(_NO_ERROR, ProducerIdAndEpoch(complete.producer_id, complete.producer_epoch) if has_next_epoch else NOBODY)
        self.marker_sender.add(coordinator_epoch, result, transaction, complete)

    def _refused(self, error: ErrorCode, transactional_id: str, producer: ProducerIdAndEpoch, api: str) -> None:
        if error is ErrorCode.producer_fenced and (cached := self.states.find(transactional_id)) is not None:
            self.states.points.fenced(cached.transaction, producer, api)

    # Work without a request.

    def abort_timed_out_transactions(self) -> Slices[None]:
        """Fence the producers of timed-out transactions and abort them, one at a time."""
        now_ms = self._now().wall_ms
        for transactional_id in self.states.timed_out(now_ms):
            if transactional_id is not None:
                self._abort_if_timed_out(transactional_id, now_ms)
            yield

    def _abort_if_timed_out(self, transactional_id: str, now_ms: int) -> None:
        try:
            cached = self.states.find(transactional_id)
        except KafkaError:
            return
        if cached is None:
            return
        transaction, now = cached.transaction, cached.transaction.now
        is_open = now.state is ONGOING and transaction.pending_state is None
        if not is_open or now.start_ms + now.timeout_ms >= now_ms:
            return
        transit = transaction.prepare_fence_producer_epoch()
        self.states.points.prepared(transaction, transit, "transaction.timeout.ms is over")
        self._end(
            transactional_id,
            ProducerIdAndEpoch(transit.producer_id, transit.producer_epoch),
            ABORT,
            self._transaction_version(),
            lambda error, _: None,  # the late producer gets the error with its next request
            "the producer was fenced",
        )

    def go_on_with(self, decided: list[CoordinatorEpochAndTxnMetadata]) -> Slices[None]:
        """Send the markers of decided transactions, one at a time, after their partition was loaded."""
        for epoch, transaction in decided:
            if self.states.is_current(epoch, transaction):
                result = COMMIT if transaction.now.state is PREPARE_COMMIT else ABORT
                complete = transaction.prepare_complete(self._now().wall_ms)
                self.marker_sender.add(epoch, result, transaction, complete)
                yield


def _may_go_on(now: TransitMetadata, expected: ProducerIdAndEpoch) -> bool:
    """Return True if the id is new or `expected`, or the producer missed the response with the next id."""
    return (
        now.producer_epoch == NONE
        or expected.producer_id == now.producer_id
        or (expected.producer_id == now.prev_producer_id and expected.producer_epoch >= MAX_EPOCH - 1)
    )
