"""Transaction markers, written by the leader of each partition for the coordinator.

Theory   A marker is appended like a client's batch with acks=all, but it has no sequence. The response comes when it is
         replicated, or at the timeout.
Source   core/.../server/KafkaApis.scala handleWriteTxnMarkersRequest; storage/.../log/ProducerAppendInfo.java
         appendEndTxnMarker @ 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, final

from fakebroker.core.clock import Now
from fakebroker.core.log.batch import LoggedBatch
from fakebroker.core.log.producer_entry import NO_SEQUENCE, ProducerFields
from fakebroker.core.replication.append_info import LogAppendInfo
from fakebroker.core.replication.delayed_produce import ProduceCallback, ProducePartitionStatus
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.transaction_records.control_records import EndTransactionMarker, encode_marker
from timingwheel.mypyc import mypyc_attr

_ACKS: Final = -1


@mypyc_attr(acyclic=True)
@final
class TxnMarker:
    """The marker that ends one transaction. With `transaction_version` 2 each transaction has an epoch of its own."""

    __slots__ = ("marker", "producer_epoch", "producer_id", "transaction_version")

    def __init__(
        self, producer_id: int, producer_epoch: int, marker: EndTransactionMarker, transaction_version: int
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.marker = marker
        self.transaction_version = transaction_version


class Producer(NamedTuple):
    """The producer of a transactional batch. The guard shows that its coordinator was asked."""

    producer_id: int
    producer_epoch: int
    guard: int


def append_marker(partition: Partition, txn_marker: TxnMarker, now: Now, required_acks: int = _ACKS) -> LogAppendInfo:
    """Append the marker to the leader's log, with acks=all by default. Raise KafkaError."""
    partition.check_min_isr(required_acks)
    log = partition.leader_log
    offset, wall_ms = log.log_end_offset, now.wall_ms
    producer_id, epoch, marker, version = (
        txn_marker.producer_id,
        txn_marker.producer_epoch,
        txn_marker.marker,
        txn_marker.transaction_version,
    )
    log.producer_state.check_marker(producer_id, epoch, marker, offset, partition.topic_partition, version)
    records = encode_marker(marker, producer_id, epoch, wall_ms)
    producer = ProducerFields(producer_id, epoch, NO_SEQUENCE, wall_ms, True, marker)
    batch = LoggedBatch(offset, offset, partition.leader_epoch, records, wall_ms, producer)
    return partition.append_prepared(log, (batch, -1), records, now)


def append_in_transaction(partition: Partition, data: bytes, count: int, producer: Producer, now: Now) -> LogAppendInfo:
    """Append a coordinator's batch for a producer's transaction: `count` records without sequences. Raise
    KafkaError."""
    log, wall_ms = partition.leader_log, now.wall_ms
    offset, (producer_id, epoch, guard) = log.log_end_offset, producer
    said = ProducerFields(producer_id, epoch, NO_SEQUENCE, wall_ms, True)
    log.producer_state.check(said, offset, partition.topic_partition, guard, by_client=False)
    batch = LoggedBatch(offset, offset + count - 1, partition.leader_epoch, data, wall_ms, said)
    return partition.append_prepared(log, (batch, -1), data, now)


def write_markers(
    replicas: ReplicaManager,
    timeout_ms: int,
    markers: Mapping[Partition, TxnMarker],
    callback: ProduceCallback,
    now: Now,
) -> None:
    """Append one marker to each partition, and call back when they are replicated or at the timeout."""
    status: list[ProducePartitionStatus] = []
    for partition, txn_marker in markers.items():
        entry = replicas.refused(partition, internal_topics_allowed=True)
        if entry is None:
            try:
                entry = replicas.appended(partition, append_marker(partition, txn_marker, now))
            except KafkaError as error:
                entry = replicas.failed_to_append(partition, b"", error)
        status.append(entry)
    replicas.answer_or_park(timeout_ms, _ACKS, status, callback, now)
    replicas.try_complete_actions(now)
