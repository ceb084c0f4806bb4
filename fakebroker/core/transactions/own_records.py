"""Append a coordinator's own batches to its log, without the checks of records.

Source   core/.../coordinator/transaction/TransactionStateManager.scala appendTransactionToLog @ 4.4.
"""

from __future__ import annotations

from typing import Final

from fakebroker.core.clock import Now
from fakebroker.core.log.batch import LoggedBatch
from fakebroker.core.replication.append_info import LogAppendInfo
from fakebroker.core.replication.delayed_produce import ProduceCallback
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.protocol.errors import KafkaError

_ACKS: Final = -1  # for all appends: TransactionLog.EnforcedRequiredAcks


def write_own(
    replicas: ReplicaManager,
    timeout_ms: int,
    partition: Partition,
    records: bytes,
    count: int,
    callback: ProduceCallback,
    now: Now,
) -> None:
    """Append a plain batch of `count` records, stamped now, and call back when it is replicated or at the timeout."""
    entry = replicas.refused(partition, True)
    if entry is None:
        try:
            entry = replicas.appended(partition, _append(partition, records, count, now))
        except KafkaError as error:
            entry = replicas.failed_to_append(partition, records, error)
    replicas.answer_or_park(timeout_ms, _ACKS, [entry], callback, now)
    replicas.try_complete_actions(now)


def _append(partition: Partition, records: bytes, count: int, now: Now) -> LogAppendInfo:
    if len(records) > partition.plain_rules.max_bytes:
        return partition.append_records_to_leader(records, True, _ACKS, now)  # the topic wants it smaller, or otherwise
    partition.check_min_isr(_ACKS)
    log = partition.leader_log
    offset = log.log_end_offset
    batch = LoggedBatch(offset, offset + count - 1, partition.leader_epoch, records, now.wall_ms)
    return partition.append_prepared(log, (batch, -1), records, now)
