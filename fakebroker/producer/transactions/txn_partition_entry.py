"""The state of a partition in a producer of 4.3: producer id and epoch, next sequence, batches in flight.

Theory   Batches in flight are ordered by producer id, epoch and sequence. If their sequences change (a new epoch, a
         failed batch before them), all of them are rewritten and sent again.
Source   clients/.../producer/internals/{TxnPartitionEntry,TxnPartitionMap}.java of 4.3.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from fakebroker.producer.errors import IllegalProducerStateError
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.record_batch_builder import NO_SEQUENCE
from fakebroker.producer.transactions.producer_id_and_epoch import NONE, ProducerIdAndEpoch
from fakebroker.protocol.topic_partition import TopicPartition

NO_LAST_ACKED: Final = -1  # for sequences and offsets
_SEQUENCES: Final = 2**31  # sequences wrap to 0 here


class TxnPartitionEntry:
    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.producer_id_and_epoch = NONE
        self.next_sequence = 0
        self.last_acked_sequence = NO_LAST_ACKED
        self.last_acked_offset = NO_LAST_ACKED
        self._in_flight: list[ProducerBatch] = []

    def has_in_flight_batches(self) -> bool:
        return bool(self._in_flight)

    def first_in_flight_sequence(self) -> int:
        """Return the first sequence in flight, NO_SEQUENCE if nothing is."""
        return self._in_flight[0].base_sequence if self._in_flight else NO_SEQUENCE

    def increment_sequence(self, increment: int) -> None:
        self.next_sequence = (self.next_sequence + increment) % _SEQUENCES

    def add_in_flight_batch(self, batch: ProducerBatch) -> None:
        """Add a batch; do nothing if one with the same sequence is there."""
        _insert(self._in_flight, batch)

    def remove_in_flight_batch(self, batch: ProducerBatch) -> None:
        """Remove the batch with the same producer id, epoch and sequence."""
        key = _key(batch)
        at = bisect_left(self._in_flight, key, key=_key)
        if at < len(self._in_flight) and _key(self._in_flight[at]) == key:
            del self._in_flight[at]

    def start_sequences_at_beginning(self, producer_id_and_epoch: ProducerIdAndEpoch) -> None:
        """Switch to this producer id and epoch, and renumber the batches in flight from 0."""
        sequence = 0
        rewritten: list[ProducerBatch] = []
        for batch in self._in_flight:
            batch.reset_producer_state(producer_id_and_epoch.producer_id, producer_id_and_epoch.epoch, sequence)
            sequence += batch.record_count
            _insert(rewritten, batch)
        self._in_flight = rewritten
        self.producer_id_and_epoch = producer_id_and_epoch
        self.next_sequence = sequence
        self.last_acked_sequence = NO_LAST_ACKED

    def maybe_update_last_acked_sequence(self, sequence: int) -> None:
        self.last_acked_sequence = max(self.last_acked_sequence, sequence)

    def maybe_update_last_acked_offset(self, offset: int) -> None:
        self.last_acked_offset = max(self.last_acked_offset, offset)

    def adjust_sequences_due_to_failed_batch(self, base_sequence: int, record_count: int) -> None:
        """Reduce the sequences after a batch that will never be sent. Raises IllegalProducerStateError for one below
        0."""
        self._check(self.next_sequence - record_count)
        self.next_sequence -= record_count
        rewritten: list[ProducerBatch] = []
        for batch in self._in_flight:
            if batch.base_sequence >= base_sequence:
                self._check(batch.base_sequence - record_count)
                batch.reset_producer_state(batch.producer_id, batch.producer_epoch, batch.base_sequence - record_count)
            _insert(rewritten, batch)
        self._in_flight = rewritten

    def _check(self, sequence: int) -> None:
        if sequence < 0:
            raise IllegalProducerStateError(f"The next sequence number for {self.partition} would be {sequence}.")


class TxnPartitionMap:
    """The entries by partition."""

    def __init__(self) -> None:
        self._entries: dict[TopicPartition, TxnPartitionEntry] = {}

    def get(self, partition: TopicPartition) -> TxnPartitionEntry:
        """Return the entry. Raises IllegalProducerStateError if there is none."""
        entry = self._entries.get(partition)
        if entry is None:
            raise IllegalProducerStateError(f"Nothing was sent to {partition} yet.")
        return entry

    def find(self, partition: TopicPartition) -> TxnPartitionEntry | None:
        return self._entries.get(partition)

    def get_or_create(self, partition: TopicPartition) -> TxnPartitionEntry:
        entry = self._entries.get(partition)
        if entry is None:
            entry = self._entries[partition] = TxnPartitionEntry(partition)
        return entry

    def remove(self, partition: TopicPartition) -> None:
        self._entries.pop(partition, None)

    def reset(self) -> None:
        self._entries.clear()


def _key(batch: ProducerBatch) -> tuple[int, int, int]:
    return batch.producer_id, batch.producer_epoch, batch.base_sequence


def _insert(batches: list[ProducerBatch], batch: ProducerBatch) -> None:
    key = _key(batch)
    at = bisect_left(batches, key, key=_key)
    if at == len(batches) or _key(batches[at]) != key:
        batches.insert(at, batch)
