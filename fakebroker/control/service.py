"""What serves the control: the application, in uvicorn's protocol, in the loop that runs."""

from __future__ import annotations

import asyncio
import logging

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from fakebroker.control.app import new_app
from fakebroker.control.clusters import Clusters
from fakebroker.control.newline import WithNewline
from fakebroker.network.strangers import in_place_of_http
from fakebroker.server.async_cluster import AsyncFakeCluster
from fakebroker.server.turn.turns import turns
from fakebroker.server.writing.limited_log import LimitedLog

log = logging.getLogger("fakebroker")

_HEADERS_BYTES = 65_536
_CONNECTIONS = 1_000
_TURNS_TO_CLOSE = 3  # of the loop, from abort() to connection_lost()


class Served:
    """An application that is served."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._told = LimitedLog(log, asyncio.get_running_loop())
        self._is_ending = False
        self._state = ServerState()
        self._config = Config(
            WithNewline(self._run),
            interface="asgi3",
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
        return _Connection(self._config, self._state, self._told)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request. One that is cut short at the end is no error of the application, as uvicorn would log."""
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            if not self._is_ending:
                raise

    async def stop(self, grace_s: float) -> None:
        """End what is in hand, within so many seconds."""
        for connection in list(self._state.connections):
            connection.shutdown()
        await self._finish(grace_s)
        self._is_ending = True
        for connection in list(self._state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        await turns(_TURNS_TO_CLOSE)
        for task in list(self._state.tasks):
            task.cancel()
        await self._finish(grace_s)
        self._told.settle()

    async def _finish(self, limit_s: float) -> None:
        if self._state.tasks:
            await asyncio.wait(list(self._state.tasks), timeout=limit_s)


class _Connection(H11Protocol):
    """A connection. What comes and is no HTTP is told with the peer, and not too often."""

    def __init__(self, config: Config, state: ServerState, told: LimitedLog) -> None:
        super().__init__(config, state, {}, asyncio.get_running_loop())
        self._told = told
        self._has_begun = False
        self.logger = _http_log

    def data_received(self, data: bytes) -> None:
        if not self._has_begun:
            self._has_begun = True
            if found := in_place_of_http(data):
                self._told.warning("closed the connection from %s: %s", self._peer, found, about=found)
                self.transport.close()
                return
        super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        self._told.warning("the HTTP control was sent something that is no HTTP, from %s", self._peer)
        super().send_400_response(msg)

    @property
    def _peer(self) -> str:
        return ":".join(map(str, self.client or ("somewhere",)))


def _is_not_told_here(record: logging.LogRecord) -> bool:
    return record.msg != "Invalid HTTP request received."  # uvicorn says it of each, without the peer


_http_log = logging.getLogger("fakebroker.control.http")
_http_log.addFilter(_is_not_told_here)


class Service(Served):
    """For a cluster that runs, and those that somebody makes beside it."""

    def __init__(self, cluster: AsyncFakeCluster, host: str, token: str | None) -> None:
        self.clusters = Clusters(cluster, host)
        super().__init__(new_app(self.clusters, token, host))

    def listen(self) -> None:
        """To the cluster, from now on."""
        self.clusters.main.listen()

    async def stop(self, grace_s: float) -> None:
        await self.clusters.close()
        await super().stop(grace_s)
