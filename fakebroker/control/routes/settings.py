"""Settings of the brokers, and quotas of clients."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from fakebroker.control.bodies import Configs, Entity, Quota
from fakebroker.control.clusters import settings
from fakebroker.control.errors import ControlError, given
from fakebroker.control.here import Here, Route
from fakebroker.control.hosted import Hosted
from fakebroker.core.quota.quota import DEFAULT, QuotaEntity

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
    return BrokerConfigs(configs=dict(here.core.broker_configs.texts(None)))


@router.put("/configs")
async def alter_configs(here: Here, body: Configs) -> BrokerConfigs:
    """Set some settings of all brokers, or reset them to their value at the start with null; the others stay."""
    with given():
        here.cluster.alter_broker_configs(settings(body.configs))
    return await get_configs(here)


@router.get("/quotas")
async def get_quotas(here: Here) -> QuotaList:
    """The quotas of each user, client id and address."""
    return _quotas(here)


@router.put("/quotas")
async def set_quota(here: Here, body: Quota) -> QuotaList:
    """Set some quotas of an entity; they apply from the next request on."""
    given_ = body.model_dump(exclude_none=True, exclude=set(Entity.model_fields))
    if not given_:
        known = ", ".join(name for name in Quota.model_fields if name not in Entity.model_fields)
        raise ControlError(422, "INVALID_BODY", f"no quota is given: set one of {known}")
    with given():
        here.cluster._alter_quotas(_entity(body), given_)
    return _quotas(here)


@router.delete("/quotas")
async def remove_quota(here: Here, body: Entity) -> QuotaList:
    """Remove all quotas of an entity."""
    with given():
        here.cluster._alter_quotas(_entity(body), None)
    return _quotas(here)


def _entity(body: Entity) -> QuotaEntity:
    return QuotaEntity(body.user, body.client_id, body.ip)


def _quotas(here: Hosted) -> QuotaList:
    return QuotaList(
        quotas=[
            QuotaLine(
                entity={kind: DEFAULT if name is None else name for kind, name in entry.entity.entries},
                quotas=dict(entry.quotas),
            )
            for entry in here.core.client_quotas.image
        ]
    )
