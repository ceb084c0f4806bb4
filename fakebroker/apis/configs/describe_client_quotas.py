"""DescribeClientQuotas (API key 48), versions 0-1.

Behaviour      Returns the entities that have all the requested kinds, with their quotas; `strict` leaves out entities
               with further kinds. Entities and quotas are in the order of Kafka's hash tables. An invalid filter fails
               the whole request.
Version notes  v1 flexible.
Source         core/.../server/KafkaApis.scala handleDescribeClientQuotasRequest;
               metadata/.../image/ClientQuotasImage.java describe
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import reads
from fakebroker.core.quota.client_quotas import Filter
from fakebroker.core.quota.quotas_image import Entry
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.describe_client_quotas.v1.request import DescribeClientQuotasRequest

KEY = 48


def _respond(ctx: RequestContext, **values: Any) -> Slices[None]:
    defaults = {"throttle_time": timedelta(0), "error_code": ErrorCode.none, "error_message": "", "entries": None}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), defaults | values))


def error_response(ctx: RequestContext, request: DescribeClientQuotasRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, error_code=code, error_message=None)


@registry.api(
    KEY,
    0,
    1,
    error_response=error_response,
    authorization=cluster("DESCRIBE_CONFIGS"),
    errors=reads("", "CLUSTER_AUTHORIZATION_FAILED INVALID_REQUEST UNSUPPORTED_VERSION"),
)
def handle(ctx: RequestContext, request: DescribeClientQuotasRequest) -> Slices[None]:
    filters = (Filter(component.entity_type, component.match_type, component.match) for component in request.components)
    try:
        entries = yield from ctx.broker.client_quotas.describe(filters, request.strict)
    except KafkaError as error:
        yield from _respond(ctx, error_code=error.code, error_message=error.message)
        return
    yield from _respond(ctx, entries=Each(_entry, entries))


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entry.entity.entries],
        "values": [{"key": key, "value": float(value)} for key, value in entry.quotas.items()],
    }
