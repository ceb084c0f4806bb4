"""toxiproxy for the brokers of a cluster: their proxies, and its API on a port of its own."""

from __future__ import annotations

import asyncio

from fakebroker.control.guard import Guard
from fakebroker.control.listening import LOOPBACK
from fakebroker.control.service import Served
from fakebroker.control.toxiproxy.api import new_api
from fakebroker.control.toxiproxy.proxies import Proxies
from fakebroker.server.async_cluster import AsyncFakeCluster


class Toxiproxy:
    """Of a cluster that runs, until `stop`."""

    def __init__(self, cluster: AsyncFakeCluster) -> None:
        self._cluster = cluster
        self.proxies = Proxies()
        self._served = Served(Guard(new_api(self.proxies), None, LOOPBACK))
        self._listener: asyncio.Server | None = None
        self.url = ""

    async def start(self, host: str, first_port: int, api_port: int) -> None:
        """Stand before the brokers, at `host`, and listen. Raises OSError."""
        await self.proxies.stand_before(self._cluster, host, first_port)
        self.advertise()
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(self._served.new_protocol, LOOPBACK, api_port)
        self.url = f"http://{LOOPBACK}:{self._listener.sockets[0].getsockname()[1]}"

    def advertise(self) -> None:
        """Have clients told of the proxies; again after a reset."""
        self.proxies.advertise(self._cluster)

    async def stop(self) -> None:
        if self._listener is not None:
            self._listener.close()
        await self._served.stop()
        await self.proxies.close()
