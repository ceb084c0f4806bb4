"""What the accumulator and the sender ask about batches that have sequence numbers, by generation.

Source   TransactionManager of 2.0 and 4.3, the part of it that an idempotent producer needs.
"""

from __future__ import annotations

from fakebroker.producer.errors import ProducerError
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.sending.response_errors import PartitionAnswer
from fakebroker.protocol.topic_partition import TopicPartition


class SequencedBatches:
    def has_unresolved_sequences(self) -> bool:
        """Of any partition."""
        raise NotImplementedError

    def has_unresolved_sequence(self, partition: TopicPartition) -> bool:
        """A batch of it expired after it was sent: nobody knows whether it was written."""
        raise NotImplementedError

    def first_in_flight_sequence(self, partition: TopicPartition) -> int:
        """NO_SEQUENCE if nothing is in flight."""
        raise NotImplementedError

    def add_in_flight_batch(self, batch: ProducerBatch) -> None:
        raise NotImplementedError

    def remove_in_flight_batch(self, batch: ProducerBatch) -> None:
        raise NotImplementedError

    def assign_sequence(self, batch: ProducerBatch) -> None:
        """It is about to be sent for the first time: as whom, and with which sequence number."""
        raise NotImplementedError

    def mark_sequence_unresolved(self, batch: ProducerBatch) -> None:
        raise NotImplementedError

    def can_retry(self, answer: PartitionAnswer, batch: ProducerBatch) -> bool:
        """Whether a batch that was refused may be sent again; what has to be changed for that is."""
        raise NotImplementedError

    def handle_completed_batch(self, batch: ProducerBatch, answer: PartitionAnswer) -> None:
        """It was written."""
        raise NotImplementedError

    def handle_failed_batch(self, batch: ProducerBatch, error: ProducerError, adjusts_sequences: bool) -> None:
        """It will not be sent again."""
        raise NotImplementedError
