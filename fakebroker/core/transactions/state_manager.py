"""The transactions that one broker coordinates: by partition of __transaction_state, in memory and in its log.

Theory   The hash of a transactional id gives a partition, and its leader is the coordinator. The state in memory is
         replicated: a change is appended with acks=all and the transaction's own timeout, and made when that is
         acknowledged. When the leader changes, the next one reads the log, and goes on with the markers of decided
         transactions. The coordinator's epoch is the leader epoch of the partition: work begun in an older one has no
         effect.
Units    times are wall milliseconds.
Source   core/.../coordinator/transaction/TransactionStateManager.scala @ 4.4.
Differs  One thread, so no locks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, final

from fakebroker.core.clock import Now
from fakebroker.core.replication.delayed_produce import ProducePartitionStatus
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.core.transactions.loading import read_log
from fakebroker.core.transactions.log_records import transaction_record
from fakebroker.core.transactions.metadata import TransactionMetadata, TransitMetadata
from fakebroker.core.transactions.own_records import write_own
from fakebroker.core.transactions.points import CoordinatorPoints
from fakebroker.core.transactions.states import DEAD, EXPIRATION_ALLOWED, ONGOING, PREPARE_ABORT, PREPARE_COMMIT
from fakebroker.core.transactions.time_outs import TimeOuts
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.java_hash import java_hash
from fakebroker.protocol.record_batch import Record, encode_batch, encode_single
from fakebroker.protocol.slices import Slices

_NONE: Final = ErrorCode.none
_LOADED_IN_A_SLICE: Final = 256
_REQUEST_TIMEOUT_MS: Final = 30_000  # request.timeout.ms
_MOST_KNOWN: Final = 10_000
_TOMBSTONES_OF_A_BATCH: Final = 256

# The errors that clients get for errors of the log.
_APPEND_ERRORS: Final = {
    ErrorCode.unknown_topic_or_partition: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas_after_append: ErrorCode.coordinator_not_available,
    ErrorCode.request_timed_out: ErrorCode.coordinator_not_available,
    ErrorCode.not_leader_or_follower: ErrorCode.not_coordinator,
    ErrorCode.kafka_storage_error: ErrorCode.not_coordinator,
    ErrorCode.message_too_large: ErrorCode.unknown_server_error,
    ErrorCode.record_list_too_large: ErrorCode.unknown_server_error,
}

Then = Callable[[ErrorCode], None]


class CoordinatorEpochAndTxnMetadata(NamedTuple):
    """A transaction, and the coordinator epoch in which it was found."""

    coordinator_epoch: int
    transaction: TransactionMetadata


class _TxnMetadataCacheEntry:
    """One partition: the transactions by their ids, once they are loaded."""

    __slots__ = ("epoch", "is_loading", "transactions")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.is_loading = True
        self.transactions: dict[str, CoordinatorEpochAndTxnMetadata] = {}


@final
class _Change:
    """A change that is being written."""

    __slots__ = ("_coordinator_epoch", "_keeps_pending", "_states", "_then", "_transactional_id", "_transit")

    def __init__(
        self,
        states: TransactionStateManager,
        transactional_id: str,
        coordinator_epoch: int,
        transit: TransitMetadata,
        keeps_pending: Callable[[ErrorCode], bool],
        then: Then,
    ) -> None:
        self._states = states
        self._transactional_id = transactional_id
        self._coordinator_epoch = coordinator_epoch
        self._transit = transit
        self._keeps_pending = keeps_pending
        self._then = then

    def answered(self, status: list[ProducePartitionStatus]) -> None:
        code = status[0].response.error_code
        error = _NONE if code == 0 else ErrorCode(code)
        written = self._states.written
        self._then(written(self._transactional_id, self._coordinator_epoch, self._transit, error, self._keeps_pending))


@final
class TransactionStateManager:
    """The transactions of one coordinator. `find_partition` returns a partition of __transaction_state, `log_version`
    the version of the written values."""

    def __init__(
        self,
        replicas: ReplicaManager,
        find_partition: Callable[[int], Partition | None],
        num_partitions: Callable[[], int],
        log_version: Callable[[], int],
        now: Callable[[], Now],
    ) -> None:
        self._replicas = replicas
        self.points = CoordinatorPoints(replicas.probe, replicas.broker_id)
        self._find_partition = find_partition
        self._num_partitions = num_partitions
        self._log_version = log_version
        self._now = now
        self._partitions: dict[int, _TxnMetadataCacheEntry] = {}
        self._known: dict[str, int] = {}  # partitions by id: a transaction needs its partition ten times
        self._known_count = 0
        self.time_outs = TimeOuts(self._is_current)

    def partition_for(self, transactional_id: str) -> int:
        """Return the partition of __transaction_state for this id."""
        count = self._num_partitions()
        if count != self._known_count or len(self._known) >= _MOST_KNOWN:
            self._known.clear()
            self._known_count = count
        index = self._known.get(transactional_id)
        if index is None:
            index = self._known[transactional_id] = abs(java_hash(transactional_id)) % count
        return index

    # Elections.

    def load(self, index: int, epoch: int) -> Slices[list[CoordinatorEpochAndTxnMetadata]]:
        """Read the log of a partition that this broker now leads, in slices. Return the decided transactions that are
        not complete."""
        loaded = self._partitions[index] = _TxnMetadataCacheEntry(epoch)
        partition = self._find_partition(index)
        decided: list[CoordinatorEpochAndTxnMetadata] = []
        if partition is not None:
            read = yield from read_log(partition.leader_log)
            for number, transaction in enumerate(read, 1):
                cached = loaded.transactions[transaction.transactional_id] = CoordinatorEpochAndTxnMetadata(
                    epoch, transaction
                )
                state = transaction.now.state
                if state is ONGOING:
                    self.time_outs.note(transaction)
                elif state is PREPARE_COMMIT or state is PREPARE_ABORT:
                    decided.append(cached)
                if number % _LOADED_IN_A_SLICE == 0:
                    yield
        if self._partitions.get(index) is not loaded:
            return []  # the broker resigned meanwhile
        loaded.is_loading = False
        return decided

    def unload(self, index: int) -> None:
        """Drop a partition that this broker no longer leads."""
        self._partitions.pop(index, None)

    def close(self) -> None:
        self._partitions.clear()

    @property
    def is_loading(self) -> bool:
        return any(partition.is_loading for partition in self._partitions.values())

    # The state in memory.

    def find(self, transactional_id: str) -> CoordinatorEpochAndTxnMetadata | None:
        """Return the transaction of this id, or None. Raise COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR."""
        return self._loaded(transactional_id).transactions.get(transactional_id)

    def put_if_not_there(self, transaction: TransactionMetadata) -> CoordinatorEpochAndTxnMetadata:
        loaded = self._loaded(transaction.transactional_id)
        return loaded.transactions.setdefault(
            transaction.transactional_id, CoordinatorEpochAndTxnMetadata(loaded.epoch, transaction)
        )

    def _loaded(self, transactional_id: str) -> _TxnMetadataCacheEntry:
        loaded = self._partitions.get(self.partition_for(transactional_id))
        if loaded is None:
            raise KafkaError(ErrorCode.not_coordinator, "This is not the correct coordinator.")
        if loaded.is_loading:
            raise KafkaError(ErrorCode.coordinator_load_in_progress, "The coordinator is loading.")
        return loaded

    def _is_current(self, transaction: TransactionMetadata) -> bool:
        loaded = self._partitions.get(self.partition_for(transaction.transactional_id))
        cached = None if loaded is None else loaded.transactions.get(transaction.transactional_id)
        return cached is not None and cached.transaction is transaction

    def is_current(self, coordinator_epoch: int, transaction: TransactionMetadata) -> bool:
        """Return True if the transaction is coordinated here, in that epoch."""
        loaded = self._partitions.get(self.partition_for(transaction.transactional_id))
        return loaded is not None and loaded.epoch == coordinator_epoch and self._is_current(transaction)

    def all(self) -> Iterator[CoordinatorEpochAndTxnMetadata]:
        """Yield all transactions, those of each partition as they are at its turn. Changes meanwhile do no harm."""
        for loaded in list(self._partitions.values()):
            yield from list(loaded.transactions.values())

    def timed_out(self, now_ms: int) -> Iterator[str | None]:
        """Yield the ids of transactions that are open for longer than their timeout; and None at times, as the end of a
        slice."""
        for transaction in self.time_outs.over(now_ms):
            yield None if transaction is None else transaction.transactional_id

    # Appends.

    def append(
        self,
        transactional_id: str,
        coordinator_epoch: int,
        transit: TransitMetadata,
        reason: str,
        then: Then,
        keeps_pending: Callable[[ErrorCode], bool] = lambda error: False,
    ) -> None:
        """Write a prepared change, complete it once it is replicated, and pass the result to `then`. After an error the
        change is dropped, unless `keeps_pending` of the error is True. `reason` is for listeners. Raise
        UNSUPPORTED_VERSION."""
        try:
            cached = self.find(transactional_id)
        except KafkaError as error:
            then(error.code)
            return
        partition = self._find_partition(self.partition_for(transactional_id))
        if cached is None or cached.coordinator_epoch != coordinator_epoch or partition is None:
            then(ErrorCode.not_coordinator)
            return
        key, value = transaction_record(transactional_id, transit, self._log_version())
        self.points.prepared(cached.transaction, transit, reason)
        now = self._now()
        data = encode_single(key, value, now.wall_ms)
        change = _Change(self, transactional_id, coordinator_epoch, transit, keeps_pending, then)
        write_own(self._replicas, transit.timeout_ms, partition, data, 1, change.answered, now)

    def written(
        self,
        transactional_id: str,
        coordinator_epoch: int,
        transit: TransitMetadata,
        append_error: ErrorCode,
        keeps_pending: Callable[[ErrorCode], bool],
    ) -> ErrorCode:
        """Complete the change after a successful append, or drop it. Return the error for the client."""
        error = _NONE if append_error is _NONE else _APPEND_ERRORS.get(append_error, append_error)
        try:
            cached = self.find(transactional_id)
        except KafkaError as problem:
            return problem.code if error is _NONE else error
        is_same = cached is not None and cached.coordinator_epoch == coordinator_epoch
        if error is not _NONE:
            self.points.failed(transactional_id, transit, error)
            if cached is not None and is_same and not keeps_pending(error):
                cached.transaction.pending_state = None
            return error
        if cached is None or not is_same:
            return ErrorCode.not_coordinator
        cached.transaction.complete_transition_to(transit)
        self.points.completed(transactional_id, transit)
        if transit.state is ONGOING:
            self.time_outs.note(cached.transaction)
        return _NONE

    # Expiration.

    def remove_expired(self, expiration_ms: int) -> Slices[None]:
        """Write a tombstone for each id that was unused for so long, and remove it once that is replicated. They go in
        small batches; Kafka's batches are as large as allowed."""
        now_ms = self._now().wall_ms
        for index, loaded in list(self._partitions.items()):
            expired: list[TransactionMetadata] = []
            for _, transaction in list(loaded.transactions.values()):
                if (
                    transaction.pending_state is None
                    and transaction.now.state in EXPIRATION_ALLOWED
                    and transaction.now.last_update_ms <= now_ms - expiration_ms
                ):
                    expired.append(transaction)
                    if len(expired) == _TOMBSTONES_OF_A_BATCH:
                        self._remove_all(index, loaded, expired)
                        expired = []
                        yield
            if expired:
                self._remove_all(index, loaded, expired)
                yield

    def _remove_all(self, index: int, loaded: _TxnMetadataCacheEntry, expired: list[TransactionMetadata]) -> None:
        partition = self._find_partition(index)
        if partition is not None and self._partitions.get(index) is loaded:
            self._remove(index, partition, loaded, expired)

    def _remove(
        self, index: int, partition: Partition, loaded: _TxnMetadataCacheEntry, expired: list[TransactionMetadata]
    ) -> None:
        dead = [(transaction, transaction.prepare_dead()) for transaction in expired]
        for transaction, transit in dead:
            self.points.prepared(transaction, transit, "transactional.id.expiration.ms is over")
        records = [
            Record(transaction_record(transaction.transactional_id, None, 0)[0], None) for transaction in expired
        ]

        def answered(status: list[ProducePartitionStatus]) -> None:
            is_written = status[0].response.error_code == 0
            for transaction, transit in dead:
                if (
                    is_written
                    and self._partitions.get(index) is loaded
                    and transaction.pending_state is DEAD
                    and transaction.now.producer_epoch == transit.producer_epoch
                ):
                    del loaded.transactions[transaction.transactional_id]
                    self.points.completed(transaction.transactional_id, transit)
                else:
                    transaction.pending_state = None

        now = self._now()
        data = encode_batch(records, base_timestamp_ms=now.wall_ms)
        write_own(self._replicas, _REQUEST_TIMEOUT_MS, partition, data, len(records), answered, now)
