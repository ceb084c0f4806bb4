"""The sequence state of a producer of 2.0, by partition: next sequences, acknowledged ones, batches in flight.

Source   The maps of clients/.../producer/internals/TransactionManager.java of 2.0.
Differs  Sequence numbers do not wrap here; those of 2.0 overflow to negative numbers.
"""

from __future__ import annotations

from fakebroker.producer.errors import IllegalProducerStateError, NothingInFlightError
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.record_batch_builder import NO_SEQUENCE
from fakebroker.producer.transactions.priority_queue import PriorityQueue
from fakebroker.producer.transactions.txn_partition_entry import NO_LAST_ACKED
from fakebroker.protocol.topic_partition import TopicPartition


class PartitionSequences:
    def __init__(self) -> None:
        self._next: dict[TopicPartition, int] = {}
        self._last_acked: dict[TopicPartition, int] = {}
        self._last_acked_offset: dict[TopicPartition, int] = {}
        self._in_flight: dict[TopicPartition, PriorityQueue[ProducerBatch]] = {}

    def clear(self) -> None:
        self._next.clear()
        self._last_acked.clear()
        self._last_acked_offset.clear()
        self._in_flight.clear()

    def clear_next(self) -> None:
        self._next.clear()

    def next_sequence(self, partition: TopicPartition) -> int:
        return self._next.setdefault(partition, 0)

    def increment(self, partition: TopicPartition, increment: int) -> None:
        self._next[partition] += increment

    def add_in_flight(self, batch: ProducerBatch) -> None:
        queue = self._in_flight.get(batch.partition)
        if queue is None:
            queue = self._in_flight[batch.partition] = PriorityQueue(_base_sequence)
        queue.offer(batch)

    def remove_in_flight(self, batch: ProducerBatch) -> None:
        queue = self._in_flight.get(batch.partition)
        if queue is not None:
            queue.remove(batch)

    def has_in_flight(self, partition: TopicPartition) -> bool:
        return bool(self._in_flight.get(partition))

    def _in_flight_of(self, partition: TopicPartition) -> PriorityQueue[ProducerBatch]:
        queue = self._in_flight.get(partition)
        if queue is None:
            raise NothingInFlightError(f"Nothing is in flight for {partition} since the producer id was reset.")
        return queue

    def first_in_flight_sequence(self, partition: TopicPartition) -> int:
        """Return the first sequence in flight, NO_SEQUENCE if nothing is."""
        queue = self._in_flight.get(partition)
        first = None if queue is None else queue.peek()
        return NO_SEQUENCE if first is None else first.base_sequence

    def is_next(self, partition: TopicPartition, sequence: int) -> bool:
        """Return True if the sequence follows the last acknowledged one."""
        return sequence - self._last_acked.get(partition, NO_LAST_ACKED) == 1

    def maybe_update_last_acked(self, partition: TopicPartition, sequence: int) -> None:
        if sequence > self._last_acked.get(partition, NO_LAST_ACKED):
            self._last_acked[partition] = sequence

    def last_acked_offset(self, partition: TopicPartition) -> int:
        return self._last_acked_offset.get(partition, NO_LAST_ACKED)

    def maybe_update_last_acked_offset(self, partition: TopicPartition, offset: int) -> None:
        if offset > self.last_acked_offset(partition):
            self._last_acked_offset[partition] = offset

    def adjust_due_to_failed_batch(self, batch: ProducerBatch) -> None:
        """Reduce the sequences after a batch that will never be sent. Raises IllegalProducerStateError for one below
        0."""
        partition = batch.partition
        if partition not in self._next:
            return
        sequence = self._next[partition] - batch.record_count
        _check(partition, sequence)
        self._next[partition] = sequence
        for other in self._in_flight_of(partition):
            if other.base_sequence >= batch.base_sequence:
                sequence = other.base_sequence - batch.record_count
                _check(partition, sequence)
                other.reset_producer_state(other.producer_id, other.producer_epoch, sequence)

    def start_at_beginning(self, partition: TopicPartition) -> None:
        """Renumber the batches in flight from 0 with the same producer id, in the order of the queue."""
        sequence = 0
        for batch in self._in_flight_of(partition):
            batch.reset_producer_state(batch.producer_id, batch.producer_epoch, sequence)
            sequence += batch.record_count
        if partition not in self._next and sequence != 0:
            raise IllegalProducerStateError(
                f"There is no sequence number for {partition} that {sequence} could replace."
            )
        self._next[partition] = sequence
        self._last_acked.pop(partition, None)


def _check(partition: TopicPartition, sequence: int) -> None:
    if sequence < 0:
        raise IllegalProducerStateError(f"The next sequence number for {partition} would be {sequence}.")


def _base_sequence(batch: ProducerBatch) -> int:
    return batch.base_sequence
