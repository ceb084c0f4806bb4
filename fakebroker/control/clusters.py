"""The clusters of the process: the main one, and others that clients of the control created, each with a lease."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from itertools import count
from typing import TypeVar

from fakebroker.control.bodies import NewCluster, NewTopic
from fakebroker.control.errors import ControlError, conflict, given, not_found
from fakebroker.control.hosted import ClusterLease, HostedCluster
from fakebroker.protocol.slices import Slices, finish
from fakebroker.server.async_cluster import AsyncFakeCluster
from fakebroker.server.security.users_in_hand import learn_in_slices

log = logging.getLogger("fakebroker")

MAX_CLUSTERS = 100
V = TypeVar("V", str | int | bool, str | int | bool | None)


class Clusters:
    """The clusters. `main` is the one that the process runs for."""

    def __init__(self, main: AsyncFakeCluster, host: str | None = None) -> None:
        """`host` is where the other clusters listen."""
        self.main = HostedCluster(main)
        self._host = host
        self._others: dict[str, tuple[HostedCluster, ClusterLease]] = {}
        self._numbers = count(1)
        self._ending: set[asyncio.Task[None]] = set()
        self._in_making = 0

    @asynccontextmanager
    async def use(self, cluster_id: str | None) -> AsyncIterator[HostedCluster]:
        """Yield the cluster of that id (None is the main one), which is not deleted meanwhile."""
        hosted, lease = (self.main, nullcontext()) if cluster_id is None else self._find(cluster_id)
        try:
            with lease:
                yield hosted
        except RuntimeError as error:
            if hosted.cluster.server.is_running:
                raise
            if cluster_id is not None:  # it was stopped meanwhile
                self._find(cluster_id)
            raise conflict(str(error)) from None

    def _find(self, cluster_id: str) -> tuple[HostedCluster, ClusterLease]:
        entry = self._others.get(cluster_id)
        if entry is None:
            raise not_found(f"there is no cluster {cluster_id!a}: it was deleted, or its lease expired")
        return entry

    def all(self) -> list[tuple[HostedCluster, int]]:
        """Return all but the main one, with the milliseconds left of their leases."""
        return [(hosted, lease.lease_ms) for hosted, lease in self._others.values()]

    async def make(self, new: NewCluster) -> HostedCluster:
        """Create a cluster with its topics. If it raises ControlError or KafkaError, nothing of it is left."""
        if len(self._others) + self._in_making >= MAX_CLUSTERS:
            raise ControlError(
                429, "TOO_MANY", f"there are {MAX_CLUSTERS} clusters already: delete one, or wait until a lease expires"
            )
        self._in_making += 1
        try:
            with given():
                for name, password in (new.users or {}).items():
                    await self.main.work.do(learn_in_slices(name, password))
                racks = {int(broker): rack for broker, rack in new.racks.items()}
                cluster = AsyncFakeCluster(
                    new.brokers,
                    host=self._host,
                    racks=racks,
                    features=new.features,
                    followers=new.followers,
                    config=settings(new.config),
                    listeners=None if new.listeners is None else [_on_free_port(text) for text in new.listeners],
                    users=new.users,
                    acls=None if new.acls is None else [acl.model_dump() for acl in new.acls],
                    defaults=new.defaults,
                    seed=new.seed,
                    life=new.life,
                    clock=new.clock,
                    journal=0,
                )
            hosted = HostedCluster(cluster, f"c{next(self._numbers)}")
            try:
                await cluster.start()
            except ModuleNotFoundError as error:
                raise ControlError(501, "NOT_INSTALLED", error.msg) from None
            try:
                with given():
                    for topic in new.topics:
                        await hosted.work.do(topic_made(hosted, topic))
            except BaseException:
                hosted.end()
                await cluster.stop()
                raise
            cluster.server.set_ups.append(partial(_make_topics, new.topics, hosted))  # a reset makes them anew
        finally:
            self._in_making -= 1
        cluster_id = hosted.cluster_id
        assert cluster_id is not None
        self._others[cluster_id] = hosted, ClusterLease(new.lease_ms, lambda: self._lease_over(cluster_id))
        return hosted

    def renew(self, cluster_id: str, lease_ms: int) -> HostedCluster:
        hosted, lease = self._find(cluster_id)
        lease.renew(lease_ms)
        return hosted

    async def delete(self, cluster_id: str) -> None:
        """Stop a cluster; its connections are closed."""
        hosted, lease = self._find(cluster_id)
        del self._others[cluster_id]
        lease.end()
        hosted.end()
        await hosted.cluster.stop()

    def _lease_over(self, cluster_id: str) -> None:
        log.info("the lease of cluster %s expired", cluster_id)
        ending = asyncio.ensure_future(self.delete(cluster_id))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Stop all but the main cluster, and end the event streams of that."""
        self.main.end()
        for cluster_id in list(self._others):
            await self.delete(cluster_id)
        if self._ending:
            await asyncio.wait(self._ending)


def _make_topics(topics: Sequence[NewTopic], hosted: HostedCluster) -> None:
    for topic in topics:
        finish(topic_made(hosted, topic))


def topic_made(hosted: HostedCluster, new: NewTopic) -> Slices[None]:
    """Create a topic, in slices."""
    return hosted.administration.create_topic(
        new.name, new.partitions, new.replication_factor, settings(new.configs), new.assignments
    )


def settings(configs: Mapping[str, V | float]) -> dict[str, V | str]:
    """Return settings as the Python API takes them."""
    return {name: repr(value) if isinstance(value, float) else value for name, value in configs.items()}


def _on_free_port(listener: str) -> str:
    """Return the text of a listener without an address. Raises ValueError if it has one."""
    if "://" in listener:
        raise ValueError(f"a cluster of the control listens on free ports: leave out the address in {listener!r}")
    return listener
