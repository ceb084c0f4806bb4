"""The cluster, its brokers, and the clusters beside it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel

from fakebroker.control.answers import BrokerNow, ClusterNow, brokers_now, cluster_now
from fakebroker.control.bodies import Lease, NewCluster
from fakebroker.control.errors import conflict, not_found
from fakebroker.control.here import All, Here, Route
from fakebroker.control.metrics.counts import count_partitions
from fakebroker.core.broker_registry import ids_in_words

router = APIRouter(route_class=Route)

Action = Literal["stop", "kill", "pause", "resume", "start"]
BrokerId = Annotated[int, Path(ge=0, le=2**31 - 1)]


class ClusterList(BaseModel):
    clusters: list[ClusterNow]


class BrokerList(BaseModel):
    brokers: list[BrokerNow]


@router.get("/cluster", tags=["cluster"])
async def get_cluster(here: Here) -> ClusterNow:
    """The cluster: brokers, clock, and how many partitions are in a bad state."""
    return await cluster_now(here)


@router.post("/reset", tags=["cluster"])
async def reset(here: Here) -> ClusterNow:
    """Reset the cluster to its initial state, on the same ports, with only its initial topics. Connections are closed,
    and parked requests get no response."""
    await here.cluster.reset()
    return await cluster_now(here)


@router.get("/brokers", tags=["brokers"])
async def get_brokers(here: Here) -> BrokerList:
    """All brokers, running or not."""
    return BrokerList(brokers=brokers_now(here, (await count_partitions(here.core)).led))


@router.post("/brokers/{broker_id}/{action}", tags=["brokers"])
async def change_broker(here: Here, broker_id: BrokerId, action: Action) -> BrokerNow:
    """Change the state of a broker: stop (controlled shutdown), kill, pause, resume, or start on the same port. A
    killed broker stays in sync, and leader, until its session expires (broker.session.timeout.ms)."""
    if broker_id not in here.cluster.brokers:
        there_are = ids_in_words(list(here.cluster.brokers))
        raise not_found(f"there is no broker {broker_id}: the ids are {there_are}")
    broker = here.cluster.brokers[broker_id]
    acts = {
        "stop": broker.stop,
        "kill": broker.kill,
        "pause": broker.pause,
        "resume": broker.resume,
        "start": broker.start,
    }
    try:
        await acts[action]()
    except ValueError as error:  # not possible in its present state
        raise conflict(str(error)) from None
    except OSError as error:
        raise conflict(f"broker {broker_id} cannot listen: {error.strerror}") from None
    leads = (await count_partitions(here.core)).led
    return next(now for now in brokers_now(here, leads) if now.id == broker_id)


@router.post("/clusters", tags=["clusters"], status_code=201)
async def make_cluster(clusters: All, new: NewCluster) -> ClusterNow:
    """Make a cluster beside the main one. Its `id` is that of /v1/clusters/{id}/..., which has all other paths
    again."""
    hosted = await clusters.make(new)
    return await cluster_now(hosted, new.lease_ms)


@router.get("/clusters", tags=["clusters"])
async def get_clusters(clusters: All) -> ClusterList:
    """All clusters but the main one."""
    return ClusterList(clusters=[await cluster_now(hosted, lease_ms) for hosted, lease_ms in clusters.all()])


@router.put("/clusters/{cluster_id}", tags=["clusters"])
async def renew_cluster(clusters: All, cluster_id: str, lease: Lease) -> ClusterNow:
    """Renew the lease of a cluster, as any call about it does."""
    return await cluster_now(clusters.renew(cluster_id, lease.lease_ms), lease.lease_ms)


@router.delete("/clusters/{cluster_id}", tags=["clusters"], status_code=204)
async def delete_cluster(clusters: All, cluster_id: str) -> None:
    """Stop a cluster: its connections are closed, its ports are free."""
    await clusters.delete(cluster_id)
