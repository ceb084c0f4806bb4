"""TxnOffsetCommit (API key 28), versions 0-6: offsets that become valid if their transaction is committed.

Behaviour      Works as OffsetCommit, partition by partition, but the offsets count only once the transaction is
               committed. The coordinator of the transaction is asked first, as for records.
Version notes  v2 leader epoch; v3 flexible, group metadata: generation, member and instance (KIP-447); v4
               TRANSACTION_ABORTABLE may be returned; v5 transactions v2: the group's partition is added to the
               transaction here (KIP-890); v6 topics by id: UNKNOWN_TOPIC_ID; GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH
               in place of ILLEGAL_GENERATION (KIP-1319).
Source         core/.../server/KafkaApis.scala handleTxnOffsetCommitRequest; GroupCoordinatorService.java
               commitTransactionalOffsets; CoordinatorPartitionWriter.java maybeStartTransactionVerification @ 4.4
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import group, in_handler, transactional_id
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import GENERATION, PARTITION_BY_ID, appends
from fakebroker.apis.groups.topics_to_commit import (
    CommitErrors,
    all_failed,
    commit_answer,
    refused,
    topics_to_commit,
)
from fakebroker.apis.later import Later
from fakebroker.core.groups.coordinator import operation_error
from fakebroker.core.groups.offsets.messages import OffsetCommit, TopicErrors
from fakebroker.core.log.producer_entry import NO_SEQUENCE
from fakebroker.core.log.transactions.verification import NO_GUARD, UNCHECKED
from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.core.transactions.markers import Producer
from fakebroker.protocol.build import build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_name import GROUP_METADATA_TOPIC_NAME
from fakebroker.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kio.static.protocol import ResponsePayload

    from fakebroker.protocol.newer.txn_offset_commit_v6 import TxnOffsetCommitRequest

KEY = 28
_EPOCH_BUMP_SINCE: Final = 5
_ABORTABLE_SINCE: Final = 4
_TOPIC_IDS_SINCE: Final = 6
_NO_GENERATION: Final = -1


def _answer(version: int, topics: Collection[TopicErrors]) -> ResponsePayload:
    return build_lazily(response_type(KEY, version), commit_answer(topics))


def error_response(ctx: RequestContext, request: TxnOffsetCommitRequest, code: ErrorCode) -> Slices[None]:
    return ctx.respond_in_slices(_answer(ctx.api_version, refused(request.topics, code)))


@registry.api(
    KEY,
    0,
    6,
    error_response=error_response,
    authorization=transactional_id("WRITE")
    .and_(group("READ"))
    .and_(in_handler("TOPIC READ TOPIC_AUTHORIZATION_FAILED partition")),
    errors=appends(
        f"transactional_id group member {PARTITION_BY_ID}",
        before=f"{GENERATION} TRANSACTIONAL_ID_AUTHORIZATION_FAILED INVALID_PRODUCER_EPOCH INVALID_TXN_STATE "
        "INVALID_PRODUCER_ID_MAPPING OFFSET_METADATA_TOO_LARGE INVALID_COMMIT_OFFSET_SIZE UNKNOWN_TOPIC_OR_PARTITION "
        "UNKNOWN_TOPIC_ID TOPIC_AUTHORIZATION_FAILED TRANSACTION_ABORTABLE CONCURRENT_TRANSACTIONS "
        "STALE_MEMBER_EPOCH FENCED_MEMBER_EPOCH GROUP_ID_NOT_FOUND",
    ),
)
def handle(ctx: RequestContext, request: TxnOffsetCommitRequest) -> Slices[None]:
    version = ctx.api_version
    by_id = version >= _TOPIC_IDS_SINCE
    errors = CommitErrors(by_id)
    known = yield from topics_to_commit(ctx, request.topics, by_id, errors)
    if not known:
        yield from ctx.respond_in_slices(_answer(version, errors.told(())))
        return
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    commit = OffsetCommit(
        request.group_id,
        getattr(request, "member_id", ""),
        getattr(request, "group_instance_id", None),
        getattr(request, "generation_id", _NO_GENERATION),
        -1,
        version,
        known,
        producer,
    )
    later: Later[list[TopicErrors]] = Later(
        ctx,
        lambda committed: _answer(version, errors.told(committed)),
        lambda code: _answer(version, errors.told(all_failed(known, code))),
    )
    _Commit(ctx, request.transactional_id, producer, commit, later).begin()
    yield from later.answer()


class _Commit:
    """One commit, from the request to the transaction's coordinator to the response."""

    def __init__(
        self,
        ctx: RequestContext,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        commit: OffsetCommit,
        then: Callable[[list[TopicErrors] | KafkaError], None],
    ) -> None:
        self._ctx = ctx
        self._transactional_id = transactional_id
        self._producer = producer
        self._commit = commit
        self._then = then
        index = ctx.groups.partition_for(commit.group_id)
        self._partition = TopicPartition(GROUP_METADATA_TOPIC_NAME, index)

    def begin(self) -> None:
        """Ask whether the group's partition belongs to the transaction, unless it is open there already."""
        ctx = self._ctx
        if not self._commit.group_id:
            self._fail(ErrorCode.invalid_group_id)
            return
        partition = ctx.metadata.find_partition(*self._partition)
        if partition is None and ctx.transactions.verifies:  # the question about it fails with this error
            self._fail(ErrorCode.coordinator_not_available)
            return
        if partition is None or partition.leader_id != ctx.broker.broker_id:
            self._fail(ErrorCode.not_coordinator)
            return
        if not ctx.transactions.verifies:
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
        self._ctx.groups.write_in_slices(
            "txn-commit-offset",
            self._commit.group_id,
            lambda shard: shard.offsets.commit_in_transaction(self._commit),
            self._then,
            Producer(self._producer.producer_id, self._producer.producer_epoch, guard),
        )

    def _fail(self, code: ErrorCode) -> None:
        self._then(operation_error(KafkaError(code, "")))
