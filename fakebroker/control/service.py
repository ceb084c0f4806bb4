"""What serves the control: the application, in uvicorn's protocol, in the loop that runs."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from fakebroker.control.app import new_app
from fakebroker.control.clusters import Clusters
from fakebroker.control.listening import SetUp
from fakebroker.control.newline import WithNewline
from fakebroker.server.async_cluster import AsyncFakeCluster

_HEADERS_BYTES = 65_536
_CONNECTIONS = 1_000


class Served:
    """An application that is served."""

    def __init__(self, app: ASGIApp) -> None:
        self._state = ServerState()
        self._config = Config(
            WithNewline(app),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=_CONNECTIONS,
            h11_max_incomplete_event_size=_HEADERS_BYTES,
        )
        self._config.load()

    def new_protocol(self) -> asyncio.Protocol:
        """For one connection."""
        return H11Protocol(self._config, self._state, {}, asyncio.get_running_loop())

    async def stop(self, grace_s: float) -> None:
        """End what is in hand, within so many seconds."""
        for connection in list(self._state.connections):
            connection.shutdown()
        if self._state.tasks:
            await asyncio.wait(list(self._state.tasks), timeout=grace_s)
        for task in list(self._state.tasks):
            task.cancel()
        for connection in list(self._state.connections):
            if connection.transport is not None:
                connection.transport.abort()


class Service(Served):
    """For a cluster that runs, and those that somebody makes beside it."""

    def __init__(self, cluster: AsyncFakeCluster, set_up: SetUp, host: str, token: str | None) -> None:
        self.clusters = Clusters(cluster, set_up, host)
        super().__init__(new_app(self.clusters, token, host))

    def listen(self) -> None:
        """To the cluster, from now on."""
        assert self.clusters.main.told

    async def stop(self, grace_s: float) -> None:
        await self.clusters.close()
        await super().stop(grace_s)
