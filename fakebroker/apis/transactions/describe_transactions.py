"""DescribeTransactions (API key 65), version 0: the state of transactions at their coordinator (KIP-664).

Behaviour      Returns the state of each id independently, as last written. An unknown id: TRANSACTIONAL_ID_NOT_FOUND,
               an empty one: INVALID_REQUEST.
Source         core/.../coordinator/transaction/TransactionCoordinator.scala handleDescribeTransactions @ 4.4
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import COORDINATOR, reads
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.core.transactions.states import TransactionState
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.describe_transactions.v0.request import DescribeTransactionsRequest

KEY = 65
_EPOCH = datetime.fromtimestamp(0, UTC)


def _respond(ctx: RequestContext, states: Each[dict[str, Any]]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "transaction_states": states}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: DescribeTransactionsRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, Each(lambda transactional_id: _failed(transactional_id, code), request.transactional_ids))


@registry.api(
    KEY,
    0,
    0,
    error_response=error_response,
    authorization=in_handler(
        "TRANSACTIONAL_ID DESCRIBE TRANSACTIONAL_ID_AUTHORIZATION_FAILED transaction", "TOPIC DESCRIBE - topic"
    ),
    errors=reads(
        "transactional_id",
        f"{COORDINATOR} TRANSACTIONAL_ID_NOT_FOUND TRANSACTIONAL_ID_AUTHORIZATION_FAILED INVALID_REQUEST",
        not_parts="topics",
    ),
)
def handle(ctx: RequestContext, request: DescribeTransactionsRequest) -> Slices[None]:
    return _respond(ctx, Each(lambda transactional_id: _described(ctx, transactional_id), request.transactional_ids))


def _described(ctx: RequestContext, transactional_id: str) -> dict[str, Any]:
    if not ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        return _failed(transactional_id, ErrorCode.transactional_id_authorization_failed)
    if not transactional_id:
        return _failed(transactional_id, ErrorCode.invalid_request)
    try:
        cached = ctx.transactions.states.find(transactional_id)
    except KafkaError as error:
        return _failed(transactional_id, error.code)
    if cached is None or cached.transaction.now.state is TransactionState.DEAD:
        return _failed(transactional_id, ErrorCode.transactional_id_not_found)
    now = cached.transaction.now
    return _failed(transactional_id, ErrorCode.none) | {
        "transaction_state": now.state.value,
        "transaction_timeout": timedelta(milliseconds=now.timeout_ms),
        "transaction_start_time": _EPOCH + timedelta(milliseconds=now.start_ms),
        "producer_id": now.producer_id,
        "producer_epoch": now.producer_epoch,
        "topics": [
            {"topic": topic, "partitions": partitions}
            for topic, partitions in now.by_topic
            if ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.TOPIC, topic)
        ],
    }


def _failed(transactional_id: str, code: ErrorCode) -> dict[str, Any]:
    return {
        "error_code": code,
        "transactional_id": transactional_id,
        "transaction_state": "",
        "transaction_timeout": timedelta(0),
        "transaction_start_time": _EPOCH,
        "producer_id": 0,
        "producer_epoch": 0,
        "topics": (),
    }
