"""toxiproxy for the brokers of a cluster: their proxies, and its API on a port of its own."""

from __future__ import annotations

from fakebroker.control.guard import Guard
from fakebroker.control.service import HttpServer
from fakebroker.control.toxiproxy.api import new_api
from fakebroker.control.toxiproxy.proxies import Proxies
from fakebroker.server.running.cluster_server import ClusterServer
from fakebroker.server.running.one_port import LOOPBACK, Port


class Toxiproxy:
    """toxiproxy for a running cluster, until `stop`."""

    def __init__(self, server: ClusterServer) -> None:
        self._server = server
        self.proxies = Proxies()
        self._served = HttpServer(Guard(new_api(self.proxies), None, LOOPBACK))
        self._port: Port | None = None
        self.url = ""

    async def start(self, host: str, first_port: int, api_port: int) -> None:
        """Create the proxies of the brokers at `host`, and listen. Raises OSError."""
        await self.proxies.stand_before(self._server, host, first_port)
        self.advertise()
        self._port = await Port.take(LOOPBACK, api_port)
        await self._port.open(self._served.new_protocol)
        self.url = f"http://{LOOPBACK}:{self._port.number}"

    def advertise(self) -> None:
        """Advertise the proxies; again after a reset."""
        self.proxies.advertise(self._server)

    async def stop(self) -> None:
        if self._port is not None:
            self._port.close()
        await self._served.stop()
        await self.proxies.close()
