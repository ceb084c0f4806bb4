"""A closed control keeps nothing of its clusters."""

from __future__ import annotations

import gc
import weakref

from support.http_peers import Client, a_service, get
from support.watchdog import run, until

from fakebroker.cluster.cluster import Cluster


def test_a_cluster_is_garbage_once_its_control_has_ended() -> None:
    async def test() -> weakref.ref[Cluster]:
        async with a_service() as service:
            clients = [Client(service, get(path)) for path in ("state", "metrics", "topics")]
            clients.append(Client(service, b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"))
            clients.append(Client(service, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
            await until(lambda: all(client.received for client in clients), "the answers")
            cluster = weakref.ref(service.clusters.main.core)
            await service.stop()
        return cluster

    cluster = run(test())
    gc.collect()
    assert cluster() is None
