"""The state of the idempotent producers of a log: the epoch and the last five batches of each.

Theory   A duplicate batch is found by its epoch, first and last sequence; the response has the offset of the first
         time. Any other batch must continue the last one: sequences run 0 ... 2^31 - 1, 0 ... An unknown producer may
         begin anywhere (KIP-360), one with a new epoch only at 0; one with an older epoch is refused. The state is a
         function of the log, so each replica has its own and a new leader goes on where the old one stopped. It follows
         the log lazily, up to `map_end_offset`: a follower that never leads hardly pays for it.
Units    sequences and offsets count records; timestamps are the batches' own, milliseconds since the epoch. A producer
         is removed when its last timestamp, not the time of the append, is producer.id.expiration.ms in the past. A
         transaction is open from its first batch to its marker (transactions/). Until then no other transaction of the
         producer begins, and the producer is not removed.
Source   storage/.../log/{ProducerStateManager,ProducerAppendInfo}.java @ 4.4.
Differs  No snapshots: truncation rebuilds the state from the batches that are left.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fakebroker.core.log.producer_entry import (
    MAX_PRODUCER_EPOCH,
    MAX_SEQUENCE,
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    NO_TRANSACTION,
    NUM_BATCHES_TO_RETAIN,
    BatchMetadata,
    ProducerFields,
    ProducerStateEntry,
    increment_sequence,
)
from fakebroker.core.log.transactions.state import Transactions
from fakebroker.core.log.transactions.verification import NO_GUARD, UNCHECKED, VerificationState
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.transaction_records.control_records import ABORT, EndTransactionMarker

_EPOCH_BUMP: Final = 2  # the transaction version from which on each transaction has its own epoch (KIP-890)


class ProducerStateManager:
    """The producers of one log, up to `map_end_offset`."""

    __slots__ = ("_entries", "_guards", "_verifications", "map_end_offset", "transactions")

    def __init__(self, map_end_offset: int = 0) -> None:
        self._entries: dict[int, ProducerStateEntry] = {}
        self._verifications: dict[int, VerificationState] = {}
        self._guards = NO_GUARD  # the number of guards handed out
        self.transactions = Transactions()
        self.map_end_offset = map_end_offset

    @property
    def producer_ids(self) -> list[int]:
        return list(self._entries)

    def last_entry(self, producer_id: int) -> ProducerStateEntry | None:
        return self._entries.get(producer_id)

    def find_duplicate_batch(self, batch: ProducerFields, last_offset_delta: int) -> BatchMetadata | None:
        """Return the cached batch with the same epoch and the same sequences, if there is one."""
        entry = self._entries.get(batch.producer_id)
        if entry is None or entry.producer_epoch != batch.producer_epoch:
            return None
        first = batch.base_sequence
        last = increment_sequence(first, last_offset_delta)
        for known in entry.batches:
            if known.first_sequence == first and known.last_sequence == last:
                return known
        return None

    def check(
        self,
        batch: ProducerFields,
        offset: int,
        topic_partition: TopicPartition,
        guard: int = NO_GUARD,
        by_client: bool = True,
    ) -> None:
        """Raise 47, 45 or 48 unless the batch, about to go to `offset`, may follow the producer's earlier batches.
        Records of a coordinator have no sequences."""
        entry = self._entries.get(batch.producer_id)
        epoch, first_sequence = batch.producer_epoch, batch.base_sequence
        if batch.is_transactional and not self.has_ongoing_transaction(batch.producer_id, epoch):
            _check_epoch(entry, batch.producer_id, epoch)
            if guard != UNCHECKED and not self._is_verified(batch.producer_id, guard):
                raise KafkaError(ErrorCode.invalid_txn_state, "Record was not part of an ongoing transaction")
        last_epoch = NO_PRODUCER_EPOCH if entry is None else entry.producer_epoch
        is_next = epoch == last_epoch and entry is not None and _in_sequence(entry.last_sequence, first_sequence)
        if not (is_next and batch.producer_id not in self._verifications):
            place = f"of producer {batch.producer_id} at offset {offset} in partition {topic_partition}"
            if epoch < last_epoch:
                raise KafkaError(
                    ErrorCode.invalid_producer_epoch,
                    f"Epoch {place} is {epoch}, which is smaller than the last seen epoch {last_epoch}",
                )
            if by_client:
                self._check_verified_sequence(batch, entry, place)
                _check_sequence(entry, epoch, first_sequence, place)
        if entry is not None and entry.current_txn_first_offset != NO_TRANSACTION and not batch.is_transactional:
            raise KafkaError(
                ErrorCode.invalid_txn_state,
                f"Expected transactional write from producer {batch.producer_id} at offset {offset} in partition "
                f"{topic_partition}",
            )

    def _check_verified_sequence(self, batch: ProducerFields, entry: ProducerStateEntry | None, place: str) -> None:
        verification = self._verifications.get(batch.producer_id)
        if verification is None:
            return
        first = batch.base_sequence
        if verification.supports_epoch_bump and first != 0 and (entry is None or not entry.batches):
            raise KafkaError(
                ErrorCode.out_of_order_sequence_number,
                f"Invalid sequence number {place}: {first} (incoming seq. number). Expected sequence 0 of a producer "
                "of transactions v2 that has no state",
            )
        if first > verification.lowest_sequence:
            raise KafkaError(
                ErrorCode.out_of_order_sequence_number,
                f"Out of order sequence number {place}: {first} (incoming seq. number), "
                f"{verification.lowest_sequence} (earliest seen sequence)",
            )

    # Transactions.

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Return the result of UnifiedLog.hasOngoingTransaction."""
        entry = self._entries.get(producer_id)
        return (
            entry is not None
            and entry.current_txn_first_offset != NO_TRANSACTION
            and entry.producer_epoch == producer_epoch
        )

    def maybe_start_verification(
        self, producer_id: int, sequence: int, epoch: int, supports_epoch_bump: bool, now_wall_ms: int
    ) -> int:
        """Return the guard with which a batch of this producer may be appended, once the coordinator has agreed;
        NO_GUARD if its transaction is open here. Raise INVALID_PRODUCER_EPOCH."""
        _check_epoch(self._entries.get(producer_id), producer_id, epoch)
        if self.has_ongoing_transaction(producer_id, epoch):
            return NO_GUARD
        verification = self._verifications.get(producer_id)
        if verification is None:
            self._guards += 1
            verification = VerificationState(self._guards, now_wall_ms, sequence, epoch, supports_epoch_bump)
            self._verifications[producer_id] = verification
        verification.note(sequence, epoch)
        return verification.guard

    def _is_verified(self, producer_id: int, guard: int) -> bool:
        verification = self._verifications.get(producer_id)
        return verification is not None and guard == verification.guard

    def check_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        marker: EndTransactionMarker,
        offset: int,
        topic_partition: TopicPartition,
        transaction_version: int,
    ) -> None:
        """Raise 47 or 52 unless the transaction marker, about to go to `offset`, may end a transaction. With version 2
        its epoch is a new one, unless it was written before."""
        entry = self._entries.get(producer_id)
        if entry is None:
            return
        epoch, place = entry.producer_epoch, f"at offset {offset} in {topic_partition}"
        is_again = producer_epoch == epoch and (
            entry.current_txn_first_offset == NO_TRANSACTION or producer_epoch == MAX_PRODUCER_EPOCH
        )
        if producer_epoch < epoch or (transaction_version >= _EPOCH_BUMP and producer_epoch == epoch and not is_again):
            raise KafkaError(
                ErrorCode.invalid_producer_epoch,
                f"Epoch of producer {producer_id} {place} is {producer_epoch}, the last seen epoch is {epoch} "
                f"(TV{transaction_version})",
            )
        if entry.coordinator_epoch > marker.coordinator_epoch:
            raise KafkaError(
                ErrorCode.transaction_coordinator_fenced,
                f"Invalid coordinator epoch for producerId {producer_id} {place}: {marker.coordinator_epoch} (zombie), "
                f"{entry.coordinator_epoch} (current)",
            )

    def update(self, batch: ProducerFields, first_offset: int, last_offset: int) -> None:
        """Record a batch of the log."""
        producer_id, timestamp_ms, marker = batch.producer_id, batch.max_timestamp_ms, batch.marker
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerStateEntry(batch.producer_epoch, [], timestamp_ms)
        if marker is not None:
            entry.end_transaction(batch.producer_epoch, marker.coordinator_epoch, timestamp_ms)
            self.transactions.complete(producer_id, last_offset, marker.control_type == ABORT)
        else:
            first = batch.base_sequence
            last = NO_SEQUENCE if first == NO_SEQUENCE else increment_sequence(first, last_offset - first_offset)
            entry.add_batch(batch.producer_epoch, BatchMetadata(first, last, first_offset, last_offset, timestamp_ms))
            if batch.is_transactional and entry.current_txn_first_offset == NO_TRANSACTION:
                entry.current_txn_first_offset = first_offset
                self.transactions.begin(producer_id, first_offset)
        if batch.is_transactional:
            verification = self._verifications.get(producer_id)
            if verification is not None and not (
                # The next transaction has begun already.
                marker is not None and verification.supports_epoch_bump and batch.producer_epoch == verification.epoch
            ):
                del self._verifications[producer_id]

    def reload_from(self, log_start_offset: int, log_end_offset: int) -> None:
        """Drop everything after a truncation, and read the rest of the log again. Batches deleted before
        `log_start_offset` no longer count, as in Kafka, which drops the snapshots below it."""
        self._entries.clear()
        self.transactions.truncate_to(log_end_offset)
        self.map_end_offset = log_start_offset

    def oldest_timestamp_ms(self) -> int | None:
        """Return the oldest last timestamp of all producers; None if there is no producer."""
        if not self._entries:  # mostly, and asked of every log
            return None
        return min(entry.last_timestamp_ms for entry in self._entries.values())

    def remove_expired_producers(self, now_wall_ms: int, expiration_ms: int) -> None:
        """Remove producers that have not written for `expiration_ms` and have no open transaction."""
        expired = [
            producer_id
            for producer_id, entry in self._entries.items()
            if entry.current_txn_first_offset == NO_TRANSACTION
            and now_wall_ms - entry.last_timestamp_ms >= expiration_ms
        ]
        for producer_id in expired:
            del self._entries[producer_id]
        for producer_id, verification in list(self._verifications.items()):
            if now_wall_ms - verification.started_ms >= expiration_ms:
                del self._verifications[producer_id]

    def check_invariants(self) -> None:
        self.transactions.check_invariants()
        for entry in self._entries.values():
            assert len(entry.batches) <= NUM_BATCHES_TO_RETAIN
            assert entry.current_txn_first_offset < self.map_end_offset
            for batch in entry.batches:
                assert batch.last_offset < self.map_end_offset
                assert batch.first_sequence == NO_SEQUENCE or batch.last_sequence == increment_sequence(
                    batch.first_sequence, batch.last_offset - batch.first_offset
                )
            assert _is_sorted(batch.last_offset for batch in entry.batches)


def _check_epoch(entry: ProducerStateEntry | None, producer_id: int, epoch: int) -> None:
    if entry is not None and epoch < entry.producer_epoch:
        raise KafkaError(
            ErrorCode.invalid_producer_epoch,
            f"Epoch of producer {producer_id} is {epoch}, which is smaller than the last seen epoch "
            f"{entry.producer_epoch}",
        )


def _check_sequence(entry: ProducerStateEntry | None, epoch: int, first_sequence: int, place: str) -> None:
    """Check the sequence of a known producer (ProducerAppendInfo.checkSequence). An unknown one may begin anywhere."""
    if entry is None or entry.producer_epoch == NO_PRODUCER_EPOCH:
        return
    if epoch != entry.producer_epoch:
        if first_sequence != 0:
            raise KafkaError(
                ErrorCode.out_of_order_sequence_number,
                f"Invalid sequence number for new epoch {place}: {epoch} (request epoch), {first_sequence} "
                f"(seq. number), {entry.producer_epoch} (current producer epoch)",
            )
    elif not _in_sequence(entry.last_sequence, first_sequence):
        raise KafkaError(
            ErrorCode.out_of_order_sequence_number,
            f"Out of order sequence number {place}: {first_sequence} (incoming seq. number), "
            f"{entry.last_sequence} (current end sequence number)",
        )


def _in_sequence(last_sequence: int, next_sequence: int) -> bool:
    return next_sequence == last_sequence + 1 or (next_sequence == 0 and last_sequence == MAX_SEQUENCE)


def _is_sorted(numbers: Iterable[int]) -> bool:
    listed = list(numbers)
    return listed == sorted(listed)
