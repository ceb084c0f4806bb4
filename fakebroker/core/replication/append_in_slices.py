"""Append a batch to its leader's log when looking at it may take long.

Theory   The batch is looked at in slices, without the log; then it is appended in one go, as if the whole had happened
         at that moment. So who leads, whether the topic is there and the ISR are looked at again by then; if the topic
         has other settings by then, the batch is looked at again. In Kafka the log is locked meanwhile, so that none of
         this can happen there, and everybody else who appends to it waits.
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
    """What `Partition.append_records_to_leader` does; raises KafkaError as it does, and for a partition that is not led
    here any more."""
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
    """Raise what a client is told of a partition that this broker cannot append to."""
    code = hosted_partition_error(partition, broker_id)
    if code is None and partition.leader_id != broker_id:
        code = ErrorCode.not_leader_or_follower
    if code is not None:
        raise KafkaError(code, f"broker {broker_id} does not lead {partition.topic_partition}")
