"""The server of the control: the application, in uvicorn's protocol, in the brokers' loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

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
_TURNS_TO_CLOSE = 3  # from abort() to connection_lost().
_CLIENTS_S = 0.1  # For clients to read what is written, at the end.
_UNREAD_S = 30  # How long a client may leave a response unread.
_WORK_S = 2.0  # For the application to finish its requests at the end.


class HttpServer:
    """A server of an application."""

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
        """Return the protocol of one connection."""
        return _Connection(self._config, self._state, self._told)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request. One that is cancelled at the end is no error of the application, as uvicorn would log."""
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            if not self._is_ending:
                raise

    async def stop(self) -> None:
        """End the current requests. A request with an incomplete body is dropped, and unread responses are not waited
        for."""
        for connection in self._connections:
            if connection.awaits_body:
                connection.transport.abort()
            else:
                connection.shutdown()
        await _wait([*self._state.tasks, *(connection.lost for connection in self._connections)], _CLIENTS_S)
        self._is_ending = True
        for connection in self._connections:
            if connection.awaits_reader:
                connection.transport.abort()
        await _wait(self._state.tasks, _WORK_S)
        for connection in self._connections:
            connection.transport.abort()
        await turns(_TURNS_TO_CLOSE)
        for task in list(self._state.tasks):
            task.cancel()
        await _wait(self._state.tasks, _WORK_S)
        self._told.settle()

    @property
    def _connections(self) -> list[_Connection]:
        return [connection for connection in self._state.connections if isinstance(connection, _Connection)]


async def _wait(for_these: Iterable[asyncio.Future[None]], limit_s: float) -> None:
    if there := list(for_these):
        await asyncio.wait(there, timeout=limit_s)


class _Connection(H11Protocol):
    """A connection. Bytes that are no HTTP are logged with the peer, at a limited rate."""

    def __init__(self, config: Config, state: ServerState, limited_log: LimitedLog) -> None:
        super().__init__(config, state, {}, asyncio.get_running_loop())
        self._told = limited_log
        self._has_begun = False
        self._unread: asyncio.TimerHandle | None = None
        self.lost: asyncio.Future[None] = self.loop.create_future()
        self.logger = _http_log

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(_UNREAD_S, self._give_up)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._forget_timer()

    def _forget_timer(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _give_up(self) -> None:
        self._told.warning("closed the connection from %s: it has read nothing for %d s", self._peer, _UNREAD_S)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget_timer()
        if not self.lost.done():
            self.lost.set_result(None)

    @property
    def awaits_body(self) -> bool:
        """Return True if the client has not sent all of its request."""
        return self.cycle is not None and not self.cycle.response_complete and self.cycle.more_body

    @property
    def awaits_reader(self) -> bool:
        """Return True if the client has not taken all of its response."""
        return self.flow.write_paused or self.transport.is_closing()

    def data_received(self, data: bytes) -> None:
        if not self._has_begun:
            self._has_begun = True
            if mistake := in_place_of_http(data):
                self._told.warning("closed the connection from %s: %s", self._peer, mistake, about=mistake)
                self.transport.close()
                return
        super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        self._told.warning("the HTTP control got bytes that are not HTTP, from %s", self._peer)
        super().send_400_response(msg)

    @property
    def _peer(self) -> str:
        return ":".join(map(str, self.client or ("somewhere",)))


def _is_not_told_here(record: logging.LogRecord) -> bool:
    return record.msg != "Invalid HTTP request received."  # uvicorn logs it for each, without the peer


_http_log = logging.getLogger("fakebroker.control.http")
_http_log.addFilter(_is_not_told_here)


class Service(HttpServer):
    """The control of a running cluster, and of clusters created beside it."""

    def __init__(self, cluster: AsyncFakeCluster, host: str, token: str | None) -> None:
        self.clusters = Clusters(cluster, host)
        super().__init__(new_app(self.clusters, token, host))

    def listen(self) -> None:
        """Observe the cluster from now on."""
        self.clusters.main.listen()

    async def stop(self) -> None:
        await self.clusters.close()
        await super().stop()
