"""The sequence state of a producer of 4.3: the sequences of all partitions, the unresolved ones, and those to rewrite.

Theory   A batch gets its sequence when it is drained. A partition with batches of an older epoch in flight sends no new
         ones until these are done. If a batch expires after it was sent, it may or may not be written: its partition is
         unresolved, and waits for all batches in flight. If the broker has then acknowledged all sequences before it,
         nothing is missing. Otherwise, or after a gap that the broker reports, an idempotent producer rewrites the
         partition: with the next epoch its batches in flight restart at sequence 0 (KIP-360). A transactional producer
         has to abort instead, which its transaction manager decides.
Source   The maps of clients/.../producer/internals/TransactionManager.java of 4.3, and what it does with them.
"""

from __future__ import annotations

from typing import final

from fakebroker.producer.copy_on_write_map import hash_of_partition
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.hash_map import HashMap
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import PartitionResponse, has_code, is_retriable
from fakebroker.producer.transactions.producer_id_and_epoch import ProducerIdAndEpoch
from fakebroker.producer.transactions.txn_partition_entry import NO_LAST_ACKED, TxnPartitionMap
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

_OUT_OF_ORDER_CODES = (ErrorCode.out_of_order_sequence_number, ErrorCode.unknown_producer_id)


@final
class PartitionSequences43:
    """The sequences by partition. `producer` is always the producer id and epoch of the manager at that time."""

    def __init__(self, config: ProducerConfig) -> None:
        self._generation = config.generation
        self._is_transactional = bool(config.transactional_id)
        self._partitions = TxnPartitionMap()
        self._unresolved: HashMap[TopicPartition, int] = HashMap(hash_of_partition)  # the sequence after the last one
        self._to_rewrite: HashMap[TopicPartition, bool] = HashMap(hash_of_partition)

    def add_partition(self, partition: TopicPartition) -> None:
        """Add a partition; do nothing if it is there."""
        self._partitions.get_or_create(partition)

    def reset(self) -> None:
        """Forget all partitions, except which ones to rewrite."""
        self._partitions.reset()
        self._unresolved.clear()

    def request_rewrite(self, partition: TopicPartition) -> None:
        self._to_rewrite.put(partition, True)

    def has_to_rewrite(self) -> bool:
        """Return True if any partition is to restart, so that the producer needs its next epoch."""
        return len(self._to_rewrite) > 0

    def rewrite(self, producer: ProducerIdAndEpoch) -> None:
        """Restart the requested partitions with this epoch. Nothing of them is unresolved then."""
        for partition, _ in self._to_rewrite.items():
            self._partitions.get(partition).start_sequences_at_beginning(producer)
            self._unresolved.discard(partition)
        self._to_rewrite.clear()

    def has_unresolved(self) -> bool:
        return len(self._unresolved) > 0

    def is_unresolved(self, partition: TopicPartition) -> bool:
        return self._unresolved.get(partition) is not None

    def unresolved(self) -> list[TopicPartition]:
        return [partition for partition, _ in self._unresolved.items()]

    def mark_unresolved(self, batch: ProducerBatch) -> None:
        following = batch.last_sequence + 1
        self._unresolved.put(batch.partition, max(following, self._unresolved.get(batch.partition) or following))

    def resolve(self, partition: TopicPartition) -> None:
        self._unresolved.discard(partition)

    def is_all_acked(self, partition: TopicPartition) -> bool:
        """Return True if the broker has acknowledged all sequences that were assigned."""
        return self._is_next(partition, self._partitions.get_or_create(partition).next_sequence)

    def has_in_flight_batches(self, partition: TopicPartition) -> bool:
        return self._partitions.get_or_create(partition).has_in_flight_batches()

    def first_in_flight_sequence(self, partition: TopicPartition) -> int:
        return self._partitions.get_or_create(partition).first_in_flight_sequence()

    def is_new_batch_held(self, partition: TopicPartition, producer: ProducerIdAndEpoch) -> bool:
        is_stale = self._is_stale(partition, producer)
        return (is_stale and self.has_in_flight_batches(partition)) or self.is_unresolved(partition)

    def maybe_update_producer(self, partition: TopicPartition, producer: ProducerIdAndEpoch) -> None:
        """Restart the partition if the producer id or epoch is a new one, and nothing is in flight."""
        if self._is_stale(partition, producer) and not self.has_in_flight_batches(partition):
            self._partitions.get(partition).start_sequences_at_beginning(producer)

    def assign(self, batch: ProducerBatch, producer: ProducerIdAndEpoch) -> None:
        """Give a batch its sequence. It is in flight from now on."""
        entry = self._partitions.get_or_create(batch.partition)
        batch.set_producer_state(producer.producer_id, producer.epoch, entry.next_sequence, self._is_transactional)
        entry.increment_sequence(batch.record_count)
        entry.add_in_flight_batch(batch)

    def add_in_flight_batch(self, batch: ProducerBatch) -> None:
        self._partitions.get(batch.partition).add_in_flight_batch(batch)

    def remove_in_flight_batch(self, batch: ProducerBatch) -> None:
        self._partitions.get_or_create(batch.partition).remove_in_flight_batch(batch)

    def can_retry(self, answer: PartitionResponse, batch: ProducerBatch, producer: ProducerIdAndEpoch) -> bool:
        """Return True if a batch with an error may be sent again, and change its sequences as needed for that."""
        partition = batch.partition
        if answer.code == ErrorCode.unknown_producer_id:
            if answer.log_start_offset == -1 or batch.sequence_has_been_reset:
                return True
            entry = self._partitions.find(partition)
            last_acked = NO_LAST_ACKED if entry is None else entry.last_acked_offset
            if last_acked < answer.log_start_offset and self._is_transactional:  # deleted by retention
                self._partitions.get(partition).start_sequences_at_beginning(producer)
                return True
            if not self._is_transactional:
                self.request_rewrite(partition)
                return True
        elif answer.code == ErrorCode.out_of_order_sequence_number:
            unresolved = self._unresolved.get(partition)
            is_first = not batch.sequence_has_been_reset and self._is_next(partition, batch.base_sequence)
            if unresolved is None and not is_first:
                return True  # an earlier batch is still in flight, or will be retried
            if not self._is_transactional:
                if unresolved is None or batch.base_sequence == unresolved:
                    self.request_rewrite(partition)
                return True
        return is_retriable(answer.code, self._generation)

    def on_completed_batch(self, batch: ProducerBatch, answer: PartitionResponse) -> None:
        """Acknowledge a batch that was written."""
        partition = batch.partition
        entry = self._partitions.find(partition)
        if entry is not None:
            entry.maybe_update_last_acked_sequence(batch.last_sequence)
        if answer.base_offset != -1:
            if not self._is_transactional:
                self._partitions.get_or_create(partition)
            last_offset = answer.base_offset + batch.record_count - 1
            if last_offset > NO_LAST_ACKED:
                self._partitions.get(partition).maybe_update_last_acked_offset(last_offset)
        self.remove_in_flight_batch(batch)

    def on_failed_batch(self, batch: ProducerBatch, error: ProducerError, adjusts_sequences: bool) -> None:
        """Close the gap that a batch leaves which will not be sent again, and is not in flight any more."""
        partition = batch.partition
        if has_code(error, *_OUT_OF_ORDER_CODES) and not self._is_transactional:
            self.request_rewrite(partition)
        elif has_code(error, ErrorCode.unknown_producer_id):
            self._partitions.remove(partition)
            self._unresolved.discard(partition)
        elif adjusts_sequences:
            entry = self._partitions.find(partition)
            if not self._is_transactional:
                self.request_rewrite(partition)
            elif entry is not None:
                entry.adjust_sequences_due_to_failed_batch(batch.base_sequence, batch.record_count)

    def _is_stale(self, partition: TopicPartition, producer: ProducerIdAndEpoch) -> bool:
        return producer != self._partitions.get_or_create(partition).producer_id_and_epoch

    def _is_next(self, partition: TopicPartition, sequence: int) -> bool:
        entry = self._partitions.find(partition)
        return sequence - (NO_LAST_ACKED if entry is None else entry.last_acked_sequence) == 1
