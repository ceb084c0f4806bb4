"""AlterClientQuotas (API key 49), versions 0-1.

Behaviour      Sets or removes the quotas of each entity independently. An entity that is named twice is altered as its
               first entry says, and gets an error. `validate_only` changes nothing. Quotas apply from the next request
               on. The response is in the order of Kafka's hash table.
Version notes  v1 flexible.
Not done       Quotas that core/quota/client_quotas.py does not list are kept without effect.
Source         metadata/.../controller/ClientQuotaControlManager.java; ControllerApis.scala handleAlterClientQuotas
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CHANGED, CONTROLLER, changes
from fakebroker.core.hash_order import grown_capacity, in_slots
from fakebroker.core.quota.quotas_image import ClientQuotaEntity
from fakebroker.core.security.error_texts import ERROR_TEXTS
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices, made_of

if TYPE_CHECKING:
    from kio.schema.alter_client_quotas.v1.request import AlterClientQuotasRequest, EntityData, EntryData

KEY = 49
_ENTRIES_OF_A_SLICE = 32


def _respond(ctx: RequestContext, entries: Each[dict[str, Any]]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "entries": entries}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: AlterClientQuotasRequest, code: ErrorCode) -> Slices[None]:
    error = KafkaError(code, ERROR_TEXTS.get(code, ""))
    return _respond(ctx, Each(lambda entry: _entry((_entity(entry), error)), request.entries))


@registry.api(
    KEY,
    0,
    1,
    error_response=error_response,
    authorization=cluster("ALTER_CONFIGS"),
    errors=changes("", before=f"{CONTROLLER} INVALID_REQUEST", after=CHANGED),
)
def handle(ctx: RequestContext, request: AlterClientQuotasRequest) -> Slices[None]:
    alterations = []
    for number, entry in enumerate(request.entries, 1):
        ops = yield from made_of(entry.ops, lambda op: (op.key, None if op.remove else float(op.value)))
        named = yield from made_of(entry.entity, _named)
        alterations.append(((yield from ClientQuotaEntity.of_in_slices(named)), ops))
        if number % _ENTRIES_OF_A_SLICE == 0:
            yield
    results = yield from ctx.broker.client_quotas.alter_all(alterations, request.validate_only)
    codes = {}
    for number, entity in enumerate(results, 1):
        codes[entity] = yield from entity.hash_code_in_slices()
        if number % _ENTRIES_OF_A_SLICE == 0:
            yield
    order = in_slots(results, codes.__getitem__, grown_capacity(len(results), 16))
    yield from _respond(ctx, Each(_entry, [(entity, results[entity]) for entity in order]))


def _entity(entry: EntryData) -> ClientQuotaEntity:
    return ClientQuotaEntity.of(map(_named, entry.entity))


def _named(entity: EntityData) -> tuple[str, str | None]:
    return entity.entity_type, entity.entity_name


def _entry(named: tuple[ClientQuotaEntity, KafkaError | None]) -> dict[str, Any]:
    entity, error = named
    return {
        "error_code": ErrorCode.none if error is None else error.code,
        "error_message": None if error is None else error.message or None,
        "entity": Each(lambda named: {"entity_type": named[0], "entity_name": named[1]}, entity.entries),
    }
