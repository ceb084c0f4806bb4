"""TxnOffsetCommit (API key 28), versions 0-5: offsets that a transaction commits, or not.

Behaviour      As OffsetCommit, partition by partition; but what is written counts only when the transaction is
               committed. The coordinator of the transaction is asked first, as for records.
Version notes  v2 leader epoch; v3 flexible, group metadata: generation, member and instance (KIP-447); v4
               TRANSACTION_ABORTABLE may be answered; v5 transactions v2: the group's partition is added to the
               transaction here (KIP-890).
Source         core/.../server/KafkaApis.scala handleTxnOffsetCommitRequest; GroupCoordinatorService.java
               commitTransactionalOffsets; CoordinatorPartitionWriter.java maybeStartTransactionVerification @ 4.4
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.core.groups.coordinator import operation_error
from fakebroker.core.groups.offsets.messages import ZERO_ID, OffsetCommit, OffsetToCommit, TopicErrors, TopicToCommit
from fakebroker.core.log.producer_entry import NO_SEQUENCE
from fakebroker.core.log.transactions.verification import NO_GUARD, UNCHECKED
from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.core.transactions.markers import Producer
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.topic_name import GROUP_METADATA_TOPIC_NAME
from fakebroker.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kio.schema.txn_offset_commit.v5.request import TxnOffsetCommitRequest

KEY = 28
_EPOCH_BUMP_SINCE: Final = 5
_ABORTABLE_SINCE: Final = 4
_NO_GENERATION: Final = -1


class _Answer:
    """What became of each partition, in the order in which it was decided."""

    def __init__(self, ctx: RequestContext) -> None:
        self._ctx = ctx
        self._topics: dict[str, list[dict[str, Any]]] = {}

    def add(self, topic: str, index: int, code: ErrorCode) -> None:
        self._topics.setdefault(topic, []).append({"partition_index": index, "error_code": code})

    def respond(self) -> None:
        topics = [{"name": name, "partitions": partitions} for name, partitions in self._topics.items()]
        values = {"throttle_time": timedelta(0), "topics": topics}
        self._ctx.respond(build(response_type(KEY, self._ctx.api_version), values))

    def fail(self, topics: list[TopicToCommit], code: ErrorCode) -> None:
        for topic in topics:
            for each in topic.partitions:
                self.add(topic.name, each.partition, code)
        self.respond()


def error_response(ctx: RequestContext, request: TxnOffsetCommitRequest, code: ErrorCode) -> None:
    answer = _Answer(ctx)
    for topic in request.topics:
        for each in topic.partitions:
            answer.add(topic.name, each.partition_index, code)
    answer.respond()


@registry.api(KEY, 0, 5, error_response=error_response)
def handle(ctx: RequestContext, request: TxnOffsetCommitRequest) -> None:
    answer = _Answer(ctx)
    known: list[TopicToCommit] = []
    for topic in request.topics:
        there: list[OffsetToCommit] = []
        for each in topic.partitions:
            if ctx.metadata.find_partition(topic.name, each.partition_index) is None:
                answer.add(topic.name, each.partition_index, ErrorCode.unknown_topic_or_partition)
            else:
                epoch = getattr(each, "committed_leader_epoch", -1)
                there.append(
                    OffsetToCommit(each.partition_index, each.committed_offset, epoch, each.committed_metadata)
                )
        if there:
            found = ctx.metadata.topic(topic.name)
            known.append(TopicToCommit(topic.name, ZERO_ID if found is None else found.topic_id, there))
    if not known:
        answer.respond()
        return
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    commit = OffsetCommit(
        request.group_id,
        getattr(request, "member_id", ""),
        getattr(request, "group_instance_id", None),
        getattr(request, "generation_id", _NO_GENERATION),
        -1,
        ctx.api_version,
        known,
        producer,
    )
    _Commit(ctx, request.transactional_id, producer, commit, answer).begin()


class _Commit:
    """From the question to the transaction's coordinator to the answer."""

    def __init__(
        self,
        ctx: RequestContext,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        commit: OffsetCommit,
        answer: _Answer,
    ) -> None:
        self._ctx = ctx
        self._transactional_id = transactional_id
        self._producer = producer
        self._commit = commit
        self._answer = answer
        index = ctx.groups.partition_for(commit.group_id)
        self._partition = TopicPartition(GROUP_METADATA_TOPIC_NAME, index)

    def begin(self) -> None:
        """Ask whether the group's partition belongs to the transaction, unless it is open there."""
        ctx = self._ctx
        if not self._commit.group_id:
            self._fail(ErrorCode.invalid_group_id)
            return
        partition = ctx.metadata.find_partition(*self._partition)
        if partition is None or partition.leader_id != ctx.broker.broker_id:
            self._fail(ErrorCode.not_coordinator)
            return
        if not ctx.controller.config.transaction_partition_verification_enable:
            self._write(UNCHECKED)
            return
        has_epoch_bump = ctx.api_version >= _EPOCH_BUMP_SINCE
        try:
            guard = partition.leader_log.producer_state.maybe_start_verification(
                self._producer.producer_id, NO_SEQUENCE, self._producer.producer_epoch, has_epoch_bump, ctx.now.wall_ms
            )
        except KafkaError as error:
            self._fail(error.code)
            return
        if guard == NO_GUARD:
            self._write(guard)
            return

        def answered(errors: Mapping[TopicPartition, ErrorCode]) -> None:
            code = self._known(errors[self._partition])
            if code is ErrorCode.none:
                self._write(guard)
            else:
                self._fail(code)

        ctx.transactions.ask_coordinator(
            self._transactional_id, self._producer, frozenset({self._partition}), has_epoch_bump, answered
        )

    def _known(self, code: ErrorCode) -> ErrorCode:
        if code is ErrorCode.producer_fenced:
            return ErrorCode.invalid_producer_epoch
        if code is ErrorCode.transaction_abortable and self._ctx.api_version < _ABORTABLE_SINCE:
            return ErrorCode.invalid_txn_state
        return code

    def _write(self, guard: int) -> None:
        self._ctx.groups.write_in_transaction(
            "txn-commit-offset",
            self._commit.group_id,
            Producer(self._producer.producer_id, self._producer.producer_epoch, guard),
            lambda shard: shard.offsets.commit_in_transaction(self._commit),
            self._written,
        )

    def _written(self, response: list[TopicErrors] | KafkaError) -> None:
        if isinstance(response, KafkaError):
            self._fail(response.code)
            return
        for topic in response:
            for index, code in topic.partitions:
                self._answer.add(topic.name, index, code)
        self._answer.respond()

    def _fail(self, code: ErrorCode) -> None:
        self._answer.fail(list(self._commit.topics), operation_error(KafkaError(code, "")).code)
