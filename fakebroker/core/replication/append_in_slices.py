"""Append a batch to its leader's log where its validation may take long.

Theory   The batch is validated in slices, without touching the log. Then it is appended in one step, as if the whole
         had happened at that moment. Leadership, existence of the topic and ISR are therefore checked again before the
         append; if the topic's settings changed meanwhile, the batch is validated again. Kafka locks the log meanwhile,
         so none of this can happen there, and other appends to the log have to wait.
Units    timestamps are judged by the wall time at which the validation of the batch begins, as Kafka takes it; the log
         append time is that of the append.
Source   core/.../cluster/Partition.scala appendRecordsToLeader; core/.../server/ReplicaManager.scala
         getPartitionOrError @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.core.clock import Now
from fakebroker.core.log.append import CheckedBatch, place, validate_append
from fakebroker.core.log.transactions.verification import NO_GUARD
from fakebroker.core.replication.append_info import LogAppendInfo
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.reads import hosted_partition_error
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices


def append_in_slices(
    partition: Partition,
    broker_id: int,
    records: bytes,
    required_acks: int,
    max_record_errors: int,
    clock: Callable[[], Now],
    guard: int = NO_GUARD,
) -> Slices[LogAppendInfo]:
    """Do the work of `Partition.append_records_to_leader` in slices. Raise KafkaError as it does, and if this broker no
    longer leads the partition."""
    checked: CheckedBatch | None = None
    while checked is None:
        partition.check_min_isr(required_acks)
        config = partition.config
        refused: KafkaError | None = None
        try:
            checked = yield from validate_append(
                records, config, partition.topic_partition, clock().wall_ms, max_record_errors
            )
        except KafkaError as error:
            refused = error
        check_leads(partition, broker_id)
        if partition.config is not config:
            checked = None
        elif refused is not None:
            raise refused
    partition.check_min_isr(required_acks)
    now = clock()
    log = partition.leader_log
    prepared = place(checked, log, partition.topic_partition, partition.leader_epoch, now.wall_ms, guard)
    return partition.append_prepared(log, prepared, records, now)


def check_leads(partition: Partition, broker_id: int) -> None:
    """Raise the error for a partition that this broker cannot append to."""
    code = hosted_partition_error(partition, broker_id)
    if code is None and partition.leader_id != broker_id:
        code = ErrorCode.not_leader_or_follower
    if code is not None:
        raise KafkaError(code, f"broker {broker_id} does not lead {partition.topic_partition}")
