"""The verification of transactional records: they are appended once the coordinator confirms their partitions.

Theory   The leader of a partition asks the coordinator before the first batch of a transaction. With transaction
         version 1 it asks if the producer has added the partition. With version 2 (Produce v12 and later) it adds the
         partition itself. Meanwhile it holds a guard, so that a late response cannot admit a batch into the next
         transaction.
Source   core/.../server/ReplicaManager.scala handleProduceAppend, maybeSendPartitionsToTransactionCoordinator;
         AddPartitionsToTxnManager.scala @ 4.4 (KIP-890).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Final, final

from fakebroker.apis.context import RequestContext
from fakebroker.apis.produce.produce_answer import ProduceAnswer
from fakebroker.core.log.transactions.verification import NO_GUARD, UNCHECKED
from fakebroker.core.replication.partition import Partition
from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.protocol.batch_layout import FLAGS_AT, PRODUCER_ID_AT, TRANSACTIONAL_FLAG
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.produce_reader import PartitionProduceData
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel.mypyc import mypyc_attr

_PRODUCER: Final = Struct(">qhi")  # id, epoch, and first sequence
_PRODUCER_END: Final = PRODUCER_ID_AT + _PRODUCER.size
_EPOCH_BUMP_SINCE: Final = 12
_ABORTABLE_SINCE: Final = 11
_PARTITIONS_OF_A_SLICE: Final = 64

_NOT_REACHED: Final = (
    ErrorCode.network_exception,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.coordinator_not_available,
    ErrorCode.not_coordinator,
)


@mypyc_attr(acyclic=True)
@final
class _TransactionalBatch:
    __slots__ = ("base_sequence", "producer")

    def __init__(self, producer: ProducerIdAndEpoch, base_sequence: int) -> None:
        self.producer = producer
        self.base_sequence = base_sequence


def verify(
    ctx: RequestContext,
    transactional_id: str,
    answer: ProduceAnswer,
    entries: dict[Partition, PartitionProduceData],
    go_on: Callable[[Mapping[Partition, int]], None],
) -> None:
    """Remove from `entries` what may not be appended, and call `go_on` with the guards of the rest, now or later.
    Raises KafkaError if the whole request is refused."""
    batches = _in_transaction(entries)
    if not batches:
        go_on({})
        return
    if not ctx.transactions.verifies:
        go_on(dict.fromkeys(batches, UNCHECKED))
        return
    _ask(ctx, transactional_id, answer, entries, batches, go_on, ctx.now.mono_ms)


def resume(ctx: RequestContext) -> None:
    """Continue a request that has waited: update its time, and let later events belong to it."""
    ctx.now = ctx.transactions.now
    ctx.probe.request = ctx.trail.request


def _ask(
    ctx: RequestContext,
    transactional_id: str,
    answer: ProduceAnswer,
    entries: dict[Partition, PartitionProduceData],
    batches: dict[Partition, _TransactionalBatch],
    go_on: Callable[[Mapping[Partition, int]], None],
    since_ms: int,
) -> None:
    """Ask the coordinator. If the leader adds the partitions and the last transaction has not ended yet, repeat this
    for a while: another Produce would be expensive."""
    if len(batches) > _PARTITIONS_OF_A_SLICE:
        slices = _ask_in_slices(ctx, transactional_id, answer, entries, batches, go_on, since_ms)
        ctx.transactions.in_turns.go_on("asking about a transaction", slices)
        return
    guards: dict[Partition, int] = {}
    for partition, batch in list(batches.items()):
        _guard(ctx, answer, entries, batches, partition, batch, guards)
    _ask_of(ctx, transactional_id, answer, entries, batches, go_on, since_ms, guards)


def _ask_in_slices(
    ctx: RequestContext,
    transactional_id: str,
    answer: ProduceAnswer,
    entries: dict[Partition, PartitionProduceData],
    batches: dict[Partition, _TransactionalBatch],
    go_on: Callable[[Mapping[Partition, int]], None],
    since_ms: int,
) -> Slices[None]:
    """Ask the coordinator about very many partitions."""
    guards: dict[Partition, int] = {}
    for number, (partition, batch) in enumerate(list(batches.items()), 1):
        _guard(ctx, answer, entries, batches, partition, batch, guards)
        if number % _PARTITIONS_OF_A_SLICE == 0:
            yield
            resume(ctx)
    _ask_of(ctx, transactional_id, answer, entries, batches, go_on, since_ms, guards)


def _guard(
    ctx: RequestContext,
    answer: ProduceAnswer,
    entries: dict[Partition, PartitionProduceData],
    batches: dict[Partition, _TransactionalBatch],
    partition: Partition,
    batch: _TransactionalBatch,
    guards: dict[Partition, int],
) -> None:
    if ctx.replicas.refused(partition, internal_topics_allowed=True) is not None:
        return  # the append returns the error
    (producer_id, epoch), sequence = batch.producer, batch.base_sequence
    has_epoch_bump = ctx.api_version >= _EPOCH_BUMP_SINCE
    try:
        guards[partition] = partition.leader_log.producer_state.maybe_start_verification(
            producer_id, sequence, epoch, has_epoch_bump, ctx.now.wall_ms
        )
    except KafkaError as error:
        del entries[partition], batches[partition]
        answer.failed_known(partition.topic_partition, error.code, None)  # Kafka sends no message either


def _ask_of(
    ctx: RequestContext,
    transactional_id: str,
    answer: ProduceAnswer,
    entries: dict[Partition, PartitionProduceData],
    batches: dict[Partition, _TransactionalBatch],
    go_on: Callable[[Mapping[Partition, int]], None],
    since_ms: int,
    guards: Mapping[Partition, int],
) -> None:
    has_epoch_bump = ctx.api_version >= _EPOCH_BUMP_SINCE
    guarded = {partition.topic_partition: partition for partition, guard in guards.items() if guard != NO_GUARD}
    if not guarded:
        go_on(guards)
        return

    def answered(errors: Mapping[TopicPartition, ErrorCode]) -> None:
        resume(ctx)  # it may have waited
        config = ctx.controller.config
        limit_ms = min(config.add_partitions_to_txn_retry_backoff_max_ms, config.request_timeout_ms)
        is_too_soon = has_epoch_bump and ErrorCode.concurrent_transactions in errors.values()
        if is_too_soon and ctx.now.mono_ms - since_ms < limit_ms:
            ctx.transactions.in_a_while(
                config.add_partitions_to_txn_retry_backoff_ms,
                lambda: _ask(ctx, transactional_id, answer, entries, batches, go_on, since_ms),
            )
            return
        for topic_partition, partition in guarded.items():
            error = _known(ctx, errors[topic_partition])
            if error is not ErrorCode.none:
                del entries[partition]
                answer.failed_known(topic_partition, *_told(error, has_epoch_bump))
        go_on(guards)

    producer = next(iter(batches.values())).producer
    ctx.transactions.ask_coordinator(transactional_id, producer, frozenset(guarded), has_epoch_bump, answered)


def _in_transaction(entries: Mapping[Partition, PartitionProduceData]) -> dict[Partition, _TransactionalBatch]:
    """Return the batches that are part of a transaction. Raises KafkaError if they have different producers."""
    batches: dict[Partition, _TransactionalBatch] = {}
    first: ProducerIdAndEpoch | None = None
    for partition, data in entries.items():
        records = data.records
        assert records is not None
        if data.is_plain or records[FLAGS_AT] & TRANSACTIONAL_FLAG == 0:
            continue
        if len(records) < _PRODUCER_END:
            # Kafka reads beyond the end of the batch, and the whole request fails.
            raise KafkaError(ErrorCode.unknown_server_error, f"A batch of {len(records)} bytes has no sequence.")
        producer_id, epoch, sequence = _PRODUCER.unpack_from(records, PRODUCER_ID_AT)
        if producer_id < 0:
            continue
        producer = ProducerIdAndEpoch(producer_id, epoch)
        if first is None:
            first = producer
        elif producer != first:
            raise KafkaError(
                ErrorCode.invalid_producer_id_mapping, "Transactional records contained more than one producer ID"
            )
        batches[partition] = _TransactionalBatch(producer, sequence)
    return batches


def _known(ctx: RequestContext, error: ErrorCode) -> ErrorCode:
    """Return the error as producers expect it."""
    if error is ErrorCode.producer_fenced:
        return ErrorCode.invalid_producer_epoch
    if error is ErrorCode.transaction_abortable and ctx.api_version < _ABORTABLE_SINCE:
        return ErrorCode.invalid_txn_state
    return error


def _told(error: ErrorCode, has_epoch_bump: bool) -> tuple[ErrorCode, str | None]:
    """Return the error and its message. Older clients get a retriable error in place of one that they would not
    retry."""
    if error is ErrorCode.invalid_txn_state:
        return error, "Partition was not added to the transaction"
    if error in _NOT_REACHED or (error is ErrorCode.concurrent_transactions and not has_epoch_bump):
        return ErrorCode.not_enough_replicas, (
            "Unable to verify the partition has been added to the transaction. Underlying error: " + kafka_name(error)
        )
    return error, None
