"""The interface of the transaction manager for batches with sequence numbers, by generation.

Source   TransactionManager of 2.0 and 4.3, the part of it that an idempotent producer needs.
"""

from __future__ import annotations

from fakebroker.producer.errors import ProducerError
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.sending.response_errors import PartitionAnswer
from fakebroker.protocol.topic_partition import TopicPartition


class SequencedBatches:
    def has_unresolved_sequences(self) -> bool:
        """Return True if any partition has an unresolved sequence."""
        raise NotImplementedError

    def has_unresolved_sequence(self, partition: TopicPartition) -> bool:
        """Return True if a batch of the partition expired after it was sent, so that it may or may not be written."""
        raise NotImplementedError

    def first_in_flight_sequence(self, partition: TopicPartition) -> int:
        """Return the first sequence in flight, NO_SEQUENCE if nothing is."""
        raise NotImplementedError

    def add_in_flight_batch(self, batch: ProducerBatch) -> None:
        raise NotImplementedError

    def remove_in_flight_batch(self, batch: ProducerBatch) -> None:
        raise NotImplementedError

    def assign_sequence(self, batch: ProducerBatch) -> None:
        """Assign producer id, epoch and sequence to a batch that is about to be sent for the first time."""
        raise NotImplementedError

    def mark_sequence_unresolved(self, batch: ProducerBatch) -> None:
        raise NotImplementedError

    def can_retry(self, answer: PartitionAnswer, batch: ProducerBatch) -> bool:
        """Return True if a batch with an error may be sent again, and change its sequences as needed for that."""
        raise NotImplementedError

    def handle_completed_batch(self, batch: ProducerBatch, answer: PartitionAnswer) -> None:
        """Record a batch that was written."""
        raise NotImplementedError

    def handle_failed_batch(self, batch: ProducerBatch, error: ProducerError, adjusts_sequences: bool) -> None:
        """Record a batch that will not be sent again."""
        raise NotImplementedError
