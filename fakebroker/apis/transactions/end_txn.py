"""EndTxn (API key 26), versions 0-5.

Behaviour      The coordinator commits or aborts as the producer says, and responds once that is replicated. The
               transaction markers are written after the response.
Version notes  v2 PRODUCER_FENCED, INVALID_PRODUCER_EPOCH below it; v3 flexible; v4 TRANSACTION_ABORTABLE may be
               returned; v5 transactions v2 (KIP-890): the response has the producer's next id and epoch.
Source         core/.../server/KafkaApis.scala handleEndTxnRequest; TransactionVersion.java transactionVersionForEndTxn
               @ 4.4
"""

from __future__ import annotations

from typing import Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import transactional_id
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import TAKEN_BACK, TRANSACTION, UNANSWERED, appends, because
from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.protocol.answers.transaction_answers import encode_end_txn
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.transaction_records.control_records import ABORT, COMMIT
from fakebroker.protocol.transactions.by_hand import read_end_txn
from fakebroker.protocol.transactions.requests import EndTxnRequest, read_end_txn_in_slices

KEY = 26
_EPOCH_BUMP_SINCE: Final = 5
_FENCED_SINCE: Final = 2


def _respond(ctx: RequestContext, code: ErrorCode, given: ProducerIdAndEpoch) -> None:
    if code is ErrorCode.producer_fenced and ctx.api_version < _FENCED_SINCE:
        code = ErrorCode.invalid_producer_epoch
    ctx.respond_frame(
        encode_end_txn(
            ctx.api_version, ctx.correlation_id, ctx.throttle(), code, given.producer_id, given.producer_epoch
        )
    )


def error_response(ctx: RequestContext, request: EndTxnRequest, code: ErrorCode) -> None:
    _respond(ctx, code, ProducerIdAndEpoch())


@registry.api(
    KEY,
    0,
    5,
    error_response=error_response,
    decode=read_end_txn,
    decode_in_slices=read_end_txn_in_slices,
    authorization=transactional_id("WRITE"),
    errors=appends(
        "transactional_id",
        before=f"{TRANSACTION} INVALID_REQUEST UNSUPPORTED_VERSION",
        after=TAKEN_BACK,
        unseen=because(TRANSACTION_ABORTABLE=UNANSWERED),
    ),
)
def handle(ctx: RequestContext, request: EndTxnRequest) -> None:
    ctx.transactions.coordinator.end_transaction(
        request.transactional_id,
        ProducerIdAndEpoch(request.producer_id, request.producer_epoch),
        COMMIT if request.committed else ABORT,
        2 if ctx.api_version >= _EPOCH_BUMP_SINCE else 0,
        lambda code, given: _respond(ctx, code, given),
    )
