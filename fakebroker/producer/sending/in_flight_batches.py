"""The batches in flight, by partition, in the order in which they were sent.

Theory   Since KIP-91 a batch also expires in flight: it fails here. Its request stays on the wire, and its memory stays
         taken until the response arrives.
Source   Sender.inFlightBatches, getExpiredInflightBatches of 4.3.
"""

from __future__ import annotations

from fakebroker.producer.accumulator_4_3 import RecordAccumulator43
from fakebroker.producer.copy_on_write_map import hash_of_partition
from fakebroker.producer.hash_map import HashMap
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.protocol.topic_partition import TopicPartition


class InFlightBatches:
    def __init__(self) -> None:
        self._of: HashMap[TopicPartition, list[ProducerBatch]] = HashMap(hash_of_partition)

    def add(self, batch: ProducerBatch) -> None:
        self._of.compute_if_absent(batch.partition, list).append(batch)

    def maybe_remove(self, batch: ProducerBatch) -> None:
        """Remove a batch that has its response or has failed."""
        batches = self._of.get(batch.partition)
        if batches is not None and batch in batches:
            batches.remove(batch)
            if not batches:
                self._of.remove(batch.partition)

    def clear(self) -> None:
        self._of.clear()

    def take_expired(self, accumulator: RecordAccumulator43, now_ms: int) -> list[ProducerBatch]:
        """Remove and return the expired batches. In each partition the search stops at the first batch that has not
        expired, which sets the next check."""
        expired: list[ProducerBatch] = []
        for partition, batches in self._of.items():
            while batches:
                if not batches[0].has_reached_delivery_timeout(accumulator.config.delivery_timeout_ms, now_ms):
                    accumulator.maybe_update_next_batch_expiry_time(batches[0])
                    break
                expired.append(batches.pop(0))
            if not batches:
                self._of.remove(partition)
        return expired
