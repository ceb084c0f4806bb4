"""AddOffsetsToTxn (API key 25), versions 0-4.

Behaviour      Adds a group's partition of __consumer_offsets to a transaction; the partition need not exist.
Version notes  v2 PRODUCER_FENCED, INVALID_PRODUCER_EPOCH below it; v3 flexible; v4 TRANSACTION_ABORTABLE may be
               returned.
Source         core/.../server/KafkaApis.scala handleAddOffsetsToTxnRequest @ 4.4
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import group, transactional_id
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import TAKEN_BACK, TRANSACTION, UNANSWERED, appends, because
from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.topic_name import GROUP_METADATA_TOPIC_NAME
from fakebroker.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kio.schema.add_offsets_to_txn.v4.request import AddOffsetsToTxnRequest

KEY = 25
_FENCED_SINCE: Final = 2
_VERSION_0: Final = 0  # as Kafka records a client before version 2; from then on TxnOffsetCommit adds the partition


def _respond(ctx: RequestContext, code: ErrorCode) -> None:
    if code is ErrorCode.producer_fenced and ctx.api_version < _FENCED_SINCE:
        code = ErrorCode.invalid_producer_epoch
    ctx.respond(build(response_type(KEY, ctx.api_version), {"throttle_time": timedelta(0), "error_code": code}))


def error_response(ctx: RequestContext, request: AddOffsetsToTxnRequest, code: ErrorCode) -> None:
    _respond(ctx, code)


@registry.api(
    KEY,
    0,
    4,
    error_response=error_response,
    authorization=transactional_id("WRITE").and_(group("READ")),
    errors=appends(
        "transactional_id group",
        before=f"{TRANSACTION} GROUP_AUTHORIZATION_FAILED INVALID_REQUEST",
        after=TAKEN_BACK,
        unseen=because(TRANSACTION_ABORTABLE=UNANSWERED, INVALID_TXN_STATE=UNANSWERED),
    ),
)
def handle(ctx: RequestContext, request: AddOffsetsToTxnRequest) -> None:
    partition = TopicPartition(GROUP_METADATA_TOPIC_NAME, ctx.groups.partition_for(request.group_id))
    ctx.transactions.coordinator.add_partitions(
        request.transactional_id,
        ProducerIdAndEpoch(request.producer_id, request.producer_epoch),
        frozenset({partition}),
        _VERSION_0,
        lambda code: _respond(ctx, code),
        "AddOffsetsToTxn",
    )
