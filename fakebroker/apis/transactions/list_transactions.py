"""ListTransactions (API key 66), versions 0-2: the transactions that a broker coordinates (KIP-664).

Behaviour      Returns all transactions but those being expired, filtered by states, producer ids, durations or ids, if
               the request has such filters. While a partition loads: COORDINATOR_LOAD_IN_PROGRESS. Unknown names of
               states are returned.
Version notes  v1 only those that run for longer than some milliseconds (KIP-994); v2 only ids that match a pattern.
Source         core/.../coordinator/transaction/TransactionStateManager.scala listTransactionStates @ 4.4
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import COORDINATOR, reads
from fakebroker.core.re2j import WORK_OF_A_SLICE
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.core.transactions.id_pattern import IdPattern
from fakebroker.core.transactions.states import TransactionState
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.list_transactions.v2.request import ListTransactionsRequest

KEY = 66
_WORK_OF_A_TRANSACTION = WORK_OF_A_SLICE // 128
T = TypeVar("T")

_FILTERS_OF_A_SLICE = 1_024
_STATES = {state.value: state for state in TransactionState}


def _respond(
    ctx: RequestContext,
    code: ErrorCode,
    unknown: list[str] | None = None,
    transactions: list[dict[str, Any]] | None = None,
) -> Slices[None]:
    values = {
        "throttle_time": timedelta(0),
        "error_code": code,
        "unknown_state_filters": unknown or (),
        "transaction_states": Each(dict, transactions or ()),
    }
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: ListTransactionsRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, code)


@registry.api(
    KEY,
    0,
    2,
    error_response=error_response,
    authorization=in_handler("TRANSACTIONAL_ID DESCRIBE - transaction"),
    errors=reads("", f"{COORDINATOR} INVALID_REGULAR_EXPRESSION"),
)
def handle(ctx: RequestContext, request: ListTransactionsRequest) -> Slices[None]:
    states = ctx.transactions.states
    if states.is_loading:
        yield from _respond(ctx, ErrorCode.coordinator_load_in_progress)
        return
    try:
        transactions = yield from _listed(ctx, request)
    except KafkaError as error:
        yield from _respond(ctx, error.code)
        return
    unknown: list[str] = []
    for number, name in enumerate(request.state_filters, 1):
        if name not in _STATES:
            unknown.append(name)
        if number % _FILTERS_OF_A_SLICE == 0:
            yield
    yield from _respond(ctx, ErrorCode.none, unknown, transactions)


def _set_of(filters: Sequence[T]) -> Slices[set[T]]:
    distinct: set[T] = set()
    for start in range(0, len(filters), _FILTERS_OF_A_SLICE):
        distinct.update(filters[start : start + _FILTERS_OF_A_SLICE])
        yield
    return distinct


def _listed(ctx: RequestContext, request: ListTransactionsRequest) -> Slices[list[dict[str, Any]]]:
    """Return the matching transactions. Raises INVALID_REGULAR_EXPRESSION."""
    wanted = {_STATES[name] for name in _STATES.keys() & (yield from _set_of(request.state_filters))}
    producer_ids = yield from _set_of(request.producer_id_filters)
    longer_than_ms = request.duration_filter if ctx.api_version >= 1 else -1
    ids = IdPattern((request.transactional_id_pattern or "") if ctx.api_version >= 2 else "")
    now_ms = ctx.now.wall_ms
    transactions: list[dict[str, Any]] = []
    work = 0
    for _, transaction in ctx.transactions.states.all():
        work += _WORK_OF_A_TRANSACTION + ids.work(transaction.transactional_id)
        if work >= WORK_OF_A_SLICE:
            work = 0
            yield
        now = transaction.now
        if (
            now.state is TransactionState.DEAD
            or (producer_ids and now.producer_id not in producer_ids)
            or (request.state_filters and now.state not in wanted)
            or (longer_than_ms >= 0 and now_ms - now.start_ms <= longer_than_ms)
            or not ids.matches(transaction.transactional_id)
            or not ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transaction.transactional_id)
        ):
            continue
        transactions.append(
            {
                "transactional_id": transaction.transactional_id,
                "producer_id": now.producer_id,
                "transaction_state": now.state.value,
            }
        )
    return transactions
