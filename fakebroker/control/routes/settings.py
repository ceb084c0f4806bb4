"""Settings of the brokers, and quotas of clients."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from fakebroker.control.bodies import Configs, Entity, Quota
from fakebroker.control.clusters import settings
from fakebroker.control.errors import ControlError, given
from fakebroker.control.here import Here, Route, change
from fakebroker.control.hosted import HostedCluster
from fakebroker.core.quota.quota import DEFAULT, QuotaEntity
from fakebroker.core.quota.quotas_image import Entry
from fakebroker.protocol.slices import Slices

_LISTED = 32  # in a slice
router = APIRouter(tags=["settings"], route_class=Route)


class BrokerConfigs(BaseModel):
    """Settings of all brokers that were altered, without those from the start."""

    configs: dict[str, str]


class QuotaLine(BaseModel):
    entity: dict[str, str]
    quotas: dict[str, float]


class QuotaList(BaseModel):
    quotas: list[QuotaLine]


@router.get("/configs")
async def get_configs(here: Here) -> BrokerConfigs:
    """The settings that were altered while the brokers run."""
    return BrokerConfigs(configs=dict(here.core.members.broker_configs.texts(None)))


@router.put("/configs")
async def alter_configs(here: Here, body: Configs) -> BrokerConfigs:
    """Set some settings of all brokers, or reset them to their value at the start with null; the others stay."""
    with given():
        await change(here, here.administration.alter_broker_configs, settings(body.configs))
    return await get_configs(here)


@router.get("/quotas", response_model=QuotaList)
async def get_quotas(here: Here) -> Response:
    """The quotas of each user, client id and address."""
    return await _quotas(here)


@router.put("/quotas", response_model=QuotaList)
async def set_quota(here: Here, body: Quota) -> Response:
    """Set some quotas of an entity; they apply from the next request on."""
    given_ = body.model_dump(exclude_none=True, exclude=set(Entity.model_fields))
    if not given_:
        known = ", ".join(name for name in Quota.model_fields if name not in Entity.model_fields)
        raise ControlError(422, "INVALID_BODY", f"no quota is given: set one of {known}")
    with given():
        here.core.members.client_quotas.alter(_entity(body), given_)
    return await _quotas(here)


@router.delete("/quotas", response_model=QuotaList)
async def remove_quota(here: Here, body: Entity) -> Response:
    """Remove all quotas of an entity."""
    with given():
        here.core.members.client_quotas.alter(_entity(body), None)
    return await _quotas(here)


def _entity(body: Entity) -> QuotaEntity:
    return QuotaEntity(body.user, body.client_id, body.ip)


async def _quotas(here: HostedCluster) -> Response:
    """Return a QuotaList."""
    return Response(
        await here.work.do(_list(list(here.core.members.client_quotas.image))), media_type="application/json"
    )


def _list(entries: list[Entry]) -> Slices[str]:
    lines: list[str] = []
    for entry in entries:
        entity = {kind: DEFAULT if name is None else name for kind, name in entry.entity.entries}
        lines.append(QuotaLine(entity=entity, quotas=dict(entry.quotas)).model_dump_json())
        if len(lines) % _LISTED == 0:
            yield
    return f'{{"quotas":[{",".join(lines)}]}}'
