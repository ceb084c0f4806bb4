"""The probe points of transactions in a partition: begin, end, and moves of the last stable offset.

Theory   The last stable offset moves only with the high watermark: appended records lie above it.
Units    offsets count records.
"""

from __future__ import annotations

from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.probe import Listener
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.transaction_records.control_records import COMMIT


def tell_transaction(listener: Listener, tp: TopicPartition, leader_id: int, log: Log, batch: LoggedBatch) -> None:
    """Report an appended batch, if it is of a transaction or a transaction marker."""
    producer, offset = batch.producer, batch.base_offset
    if producer is None or not producer.is_transactional:
        return
    producer_id, epoch, marker = producer.producer_id, producer.producer_epoch, producer.marker
    if marker is not None:
        is_commit = marker.control_type == COMMIT
        listener.marker_written(tp, leader_id, producer_id, epoch, marker.coordinator_epoch, is_commit, offset)
        return
    entry = log.producer_state.last_entry(producer_id)
    if entry is not None and entry.current_txn_first_offset == offset:
        listener.transaction_began(tp, leader_id, producer_id, epoch, offset)


def tell_stable_offset(listener: Listener, tp: TopicPartition, leader_epoch: int, log: Log, before: int) -> None:
    """Report the last stable offset, if the log has transactions and it moved."""
    if log.has_transactions and (stable := log.last_stable_offset) != before:
        transactions = log.producer_state.transactions
        unstable = transactions.first_unstable_offset(log.high_watermark)
        listener.stable_offset_moved(
            tp, leader_epoch, stable, -1 if unstable is None else unstable, transactions.num_open
        )
