"""The events of transactions in a partition: begin, end, and moves of the last stable offset.

Theory   The last stable offset moves only with the high watermark: appended records lie above it.
Units    offsets count records.
"""

from __future__ import annotations

from fakebroker.core.journal.transaction_events import MarkerWritten, StableOffsetMoved, TransactionBegan, result_of
from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.probe import Probe
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.transaction_records.control_records import COMMIT


def tell_transaction(probe: Probe, tp: TopicPartition, leader_id: int, log: Log, batch: LoggedBatch | None) -> None:
    """Tell that the leader has appended this batch, if it begins a transaction or is a transaction marker."""
    if batch is None or batch.producer is None or not batch.producer.is_transactional:
        return
    producer, offset = batch.producer, batch.base_offset
    who = producer.producer_id, producer.producer_epoch
    marker = producer.marker
    if marker is not None:
        result = result_of(marker.control_type == COMMIT)
        probe.tell(MarkerWritten(*probe.times, leader_id, *tp, *who, marker.coordinator_epoch, result, offset))
        return
    entry = log.producer_state.last_entry(producer.producer_id)
    if entry is not None and entry.current_txn_first_offset == offset:
        probe.tell(TransactionBegan(*probe.times, leader_id, *tp, *who, offset))


def tell_stable_offset(probe: Probe, tp: TopicPartition, leader_epoch: int, log: Log, before: int) -> None:
    """Tell the last stable offset, if the log has transactions and it moved."""
    if log.has_transactions and (stable := log.last_stable_offset) != before:
        transactions = log.producer_state.transactions
        unstable = transactions.first_unstable_offset(log.high_watermark)
        offsets = stable, -1 if unstable is None else unstable
        probe.tell(StableOffsetMoved(*probe.times, *tp, leader_epoch, *offsets, transactions.num_open))
