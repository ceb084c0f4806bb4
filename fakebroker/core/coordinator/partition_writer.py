"""Appends of a coordinator to the partition of the internal topic that it leads.

Theory   A coordinator appends with acks=1: the size of the ISR is not checked, and operations wait for the high
         watermark alone. Fetches of consumers and followers that wait for the append are completed at once, not at the
         end of a request: there may be none.
Source   core/.../coordinator/group/CoordinatorPartitionWriter.scala append, config @ 4.2.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.core.clock import Now
from fakebroker.core.coordinator.batch_builder import BatchBuilder
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.core.transactions.markers import Producer, TxnMarker, append_in_transaction, append_marker
from fakebroker.protocol.batch_layout import TRANSACTIONAL_FLAG
from fakebroker.protocol.compression import compress
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.plain_batch import is_plain
from fakebroker.protocol.record_batch import (
    RECORD_BATCH_OVERHEAD,
    pack_batch,
    read_batch_header,
)


class PartitionWriter:
    """A writer for the partitions of one topic."""

    def __init__(
        self,
        replicas: ReplicaManager,
        find_partition: Callable[[int], Partition | None],
        compression: Callable[[], int],
    ) -> None:
        """Store the services. `compression` returns the number of the codec."""
        self._replicas = replicas
        self._find = find_partition
        self._compression = compression

    @property
    def broker_id(self) -> int:
        return self._replicas.broker_id

    def partition(self, index: int) -> Partition:
        """Return the partition. Raises KafkaError if this broker does not lead it."""
        partition = self._find(index)
        if partition is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, "This server does not host this topic-partition.")
        if partition.leader_id != self._replicas.broker_id:
            raise KafkaError(
                ErrorCode.not_leader_or_follower,
                f"Broker {self._replicas.broker_id} does not lead {partition.topic_partition}.",
            )
        return partition

    @property
    def compresses(self) -> bool:
        """Return True if batches are compressed, so their size is known only at the append."""
        return self._compression() != 0

    def too_large(self, index: int, size: int) -> KafkaError:
        """Return the error for a batch that is too large for the log; `size` is an upper bound. Raises KafkaError as
        `append`."""
        return KafkaError(
            ErrorCode.message_too_large,
            f"The record batch size in the append to {self.partition(index).topic_partition} is {size} bytes which "
            f"exceeds the maximum configured value of {self.partition(index).config.max_message_bytes}.",
        )

    def append(self, index: int, records: BatchBuilder, now: Now) -> int:
        """Append the records as one batch, and return the next offset. If it raises KafkaError, nothing is appended."""
        partition = self.partition(index)
        batch = records.build()
        codec = self._compression()
        if codec:
            header = read_batch_header(batch)
            batch = pack_batch(header._replace(attributes=codec), compress(codec, batch[RECORD_BATCH_OVERHEAD:]))
        info = self._replicas.append_records_to_leader(partition, batch, is_plain(batch), 1, now)
        return info.last_offset + 1

    def append_in_transaction(self, index: int, records: BatchBuilder, producer: Producer, now: Now) -> int:
        """Append in a transaction, and return the next offset. Raises KafkaError, also if the transaction is not open
        here and the producer's guard is stale."""
        data = records.build(TRANSACTIONAL_FLAG, producer.producer_id, producer.producer_epoch)
        info = append_in_transaction(self.partition(index), data, len(records), producer, now)
        self._replicas.woken_by(self.partition(index), info, now)
        return info.last_offset + 1

    def append_marker(self, index: int, txn_marker: TxnMarker, now: Now) -> int:
        """Append a transaction marker, and return the next offset. Raises KafkaError."""
        info = append_marker(self.partition(index), txn_marker, now, required_acks=1)
        self._replicas.woken_by(self.partition(index), info, now)
        return info.last_offset + 1
