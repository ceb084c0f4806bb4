"""InitProducerId (API key 22), versions 0-5.

Behaviour      Without a transactional id: a new producer id with epoch 0, whatever id the request contains. An empty
               transactional id, or only one of id and epoch given: INVALID_REQUEST. With a transactional id: its
               producer id and the next epoch, once that is replicated. An open transaction is aborted first:
               CONCURRENT_TRANSACTIONS.
Version notes  v2 flexible; v3 the client may send its id and epoch (KIP-360); v4 PRODUCER_FENCED may appear; v5
               TRANSACTION_ABORTABLE may appear (KIP-890).
Source         core/.../server/KafkaApis.scala handleInitProducerIdRequest; TransactionCoordinator.scala @ 4.4
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import COORDINATOR, SLOW, TAKEN_BACK, UNANSWERED, appends, because
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.init_producer_id.v5.request import InitProducerIdRequest

KEY = 22
_EXPECTED_SINCE: Final = 3
_FENCED_SINCE: Final = 4


def _respond(ctx: RequestContext, code: ErrorCode, producer_id: int = -1, producer_epoch: int = -1) -> None:
    if code is ErrorCode.producer_fenced and ctx.api_version < _FENCED_SINCE:
        code = ErrorCode.invalid_producer_epoch
    values = {
        "throttle_time": timedelta(0),
        "error_code": code,
        "producer_id": producer_id,
        "producer_epoch": producer_epoch,
    }
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: InitProducerIdRequest, code: ErrorCode) -> None:
    _respond(ctx, code)


@registry.api(
    KEY,
    0,
    5,
    error_response=error_response,
    authorization=in_handler(
        "TRANSACTIONAL_ID WRITE TRANSACTIONAL_ID_AUTHORIZATION_FAILED request",
        "CLUSTER IDEMPOTENT_WRITE CLUSTER_AUTHORIZATION_FAILED request",
        "TOPIC WRITE CLUSTER_AUTHORIZATION_FAILED request",
    ),
    errors=appends(
        "transactional_id",
        before=f"{COORDINATOR} CLUSTER_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED INVALID_REQUEST "
        "INVALID_PRODUCER_EPOCH PRODUCER_FENCED CONCURRENT_TRANSACTIONS INVALID_TRANSACTION_TIMEOUT REQUEST_TIMED_OUT "
        "TRANSACTION_ABORTABLE",
        after=TAKEN_BACK,
        unseen=because(REQUEST_TIMED_OUT=SLOW, TRANSACTION_ABORTABLE=UNANSWERED),
    ),
)
def handle(ctx: RequestContext, request: InitProducerIdRequest) -> None:
    refusal = _refusal(ctx, request.transactional_id)
    if refusal is not None:
        _respond(ctx, refusal)
        return
    one_of_two = ctx.api_version >= _EXPECTED_SINCE and (request.producer_id == -1) != (request.producer_epoch == -1)
    if one_of_two or request.transactional_id == "":
        _respond(ctx, ErrorCode.invalid_request)
    elif request.transactional_id is None:
        _respond(ctx, ErrorCode.none, ctx.producer_ids.generate_producer_id(), 0)
    else:
        expected = None
        if ctx.api_version >= _EXPECTED_SINCE and request.producer_id != -1:
            expected = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
        ctx.transactions.coordinator.init_producer_id(
            request.transactional_id,
            request.transaction_timeout // timedelta(milliseconds=1),
            expected,
            lambda code, given: _respond(ctx, code, *given),
        )


def _refusal(ctx: RequestContext, transactional_id: str | None) -> ErrorCode | None:
    """Return the error of a client that needs a permission. Without a transactional id one to write any topic does."""
    if transactional_id is not None:
        if ctx.is_authorized(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
            return None
        return ErrorCode.transactional_id_authorization_failed
    if ctx.is_authorized_for_cluster(AclOperation.IDEMPOTENT_WRITE):
        return None
    if ctx.is_authorized_by_type(AclOperation.WRITE, ResourceType.TOPIC):
        return None
    return ErrorCode.cluster_authorization_failed
