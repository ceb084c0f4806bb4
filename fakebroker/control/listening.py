"""The port of the control: opened at the start, while its server is imported on demand.

Theory   The HTTP server takes longer to import than all the rest of `serve`. So this file opens the port, and imports
         nothing. Unless the control was requested explicitly, the first connection starts the import, on a thread, so
         that the brokers serve on meanwhile. Then uvicorn's protocol gets the connection. It runs in the brokers' loop,
         without the signals, logs and timers of uvicorn's server.
Errors   OSError for a port that is taken, ImportError for a missing package.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from fakebroker.server.async_cluster import AsyncFakeCluster
from fakebroker.server.running.one_port import Port, bound_host, without_brackets

if TYPE_CHECKING:
    from fakebroker.control.service import Service
    from fakebroker.control.toxiproxy.service import Toxiproxy

log = logging.getLogger("fakebroker")

DEFAULT_PORT = 9644
_NEEDED = ("fastapi", "uvicorn", "prometheus_client")


def missing() -> str | None:
    """Return the first missing package of the extra, or None."""
    return next((name for name in _NEEDED if find_spec(name) is None), None)


def new_toxiproxy(cluster: AsyncFakeCluster) -> Toxiproxy:
    """Return toxiproxy for a running cluster."""
    from fakebroker.control.toxiproxy.service import Toxiproxy

    return Toxiproxy(cluster.server)


def _import_service() -> type[Service]:
    from fakebroker.control.service import Service

    return Service


class Control:
    """The control of a cluster, from `start` to `stop`."""

    def __init__(self, cluster: AsyncFakeCluster, host: str, token: str | None) -> None:
        self._cluster = cluster
        self._host = host
        self._token = token
        self._port: Port | None = None
        self._loading: asyncio.Task[None] | None = None
        self._service: Service | None = None  # once it is imported
        self._early: set[_EarlyConnection] = set()
        self.url = ""

    async def start(self, port: int) -> None:
        """Listen. Raises OSError."""
        self._port = await Port.take(bound_host(without_brackets(self._host)), port)
        await self._port.open(self._accept)
        host = f"[{self._host}]" if ":" in self._host and not self._host.startswith("[") else self._host
        self.url = f"http://{host}:{self._port.number}"

    def load(self) -> None:
        """Import the server, and observe the cluster from now on, or from its start."""
        self._begin(_import_service()).listen()

    def _begin(self, service: type[Service]) -> Service:
        self._service = service(self._cluster, self._host, self._token)
        return self._service

    def _accept(self) -> asyncio.Protocol:
        if self._service is not None:
            return self._service.new_protocol()
        if self._loading is None:
            self._loading = asyncio.ensure_future(self._load())
        return _EarlyConnection(self._early, self._new_protocol)

    def _new_protocol(self) -> asyncio.Protocol | None:
        return None if self._service is None else self._service.new_protocol()

    async def _load(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            service = self._begin(await loop.run_in_executor(None, _import_service))
        except ImportError as error:
            log.error("the control cannot be served: %s", error)
            for early in list(self._early):
                early.abort()
            self._loading = None
            return
        for early in list(self._early):
            early.hand_over(service.new_protocol())

    async def stop(self) -> None:
        """Stop listening, end current requests, and stop the clusters that were created."""
        if self._port is not None:
            self._port.close()
        if self._loading is not None:
            await asyncio.wait((self._loading,))
        for early in list(self._early):
            early.abort()
        if self._service is not None:
            await self._service.stop()


class _EarlyConnection(asyncio.Protocol):
    """A connection from before the import: it keeps the bytes that it receives."""

    def __init__(self, all_of_them: set[_EarlyConnection], later: Callable[[], asyncio.Protocol | None]) -> None:
        self._all = all_of_them
        self._later = later
        self._transport: asyncio.Transport | None = None
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._all.add(self)
        protocol = self._later()  # the import ended between accepting the connection and this
        if protocol is not None:
            self.hand_over(protocol)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._transport is not None:
            self._transport.pause_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._all.discard(self)

    def hand_over(self, protocol: asyncio.Protocol) -> None:
        """Let another protocol serve the connection."""
        self._all.discard(self)
        transport = self._transport
        if transport is None:
            return
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        if self._received:
            protocol.data_received(self._received)
            transport.resume_reading()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
