"""The proxies of a process: kafka1, kafka2 ... for its brokers, and those that clients create."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from random import Random
from typing import Any

from fakebroker.control.toxiproxy.proxy import Proxy, address_of
from fakebroker.control.toxiproxy.toxics import ApiError, bad_request, name_of, text
from fakebroker.server.made.everywhere import told_of
from fakebroker.server.running.cluster_server import ClusterServer

_MAX_PROXIES = 1_000


class Proxies:
    """The proxies by name."""

    def __init__(self, seed: int = 0) -> None:
        self.all: dict[str, Proxy] = {}
        self._random = Random(f"toxicity and jitter of {seed}")
        self._turn = asyncio.Lock()

    async def stand_before(self, server: ClusterServer, host: str, first_port: int) -> None:
        """Create a proxy before each broker, that of the n-th at first_port + n - 1; 0 takes free ones. Raises
        OSError."""
        there = _reached(server.arguments.places[0].host)
        for number, broker_port in enumerate(server.listeners.ports, 1):
            port = first_port and first_port + number - 1
            upstream = f"{there}:{broker_port}"
            proxy = Proxy(f"kafka{number}", f"{host}:{port}", upstream, self._random)
            try:
                await proxy.start()
            except ApiError as error:
                raise OSError(error.message) from None
            self.all[proxy.name] = proxy

    def advertise(self, server: ClusterServer) -> None:
        """Advertise the proxies in place of the brokers, as far as they were not deleted: now, and again after a
        reset."""
        registry = server.driver.cluster.registry
        for number, broker_id in enumerate(registry.broker_ids, 1):
            if (proxy := self.all.get(f"kafka{number}")) is not None:
                _, port = address_of(proxy.listen)
                registry[broker_id].set_endpoint(registry[broker_id].endpoint().host, port)

    def find(self, name: str) -> Proxy:
        proxy = self.all.get(name)
        if proxy is None:
            raise ApiError(404, "proxy not found")
        return proxy

    async def create(self, body: Mapping[str, Any]) -> Proxy:
        """Create a proxy. Raises ApiError."""
        async with self._turn:
            return await self._create(body)

    async def _create(self, body: Mapping[str, Any]) -> Proxy:
        name, upstream = name_of(body), text(body, "upstream", "")
        if not name or not upstream:
            raise ApiError(400, f"missing required field: {'upstream' if name else 'name'}")
        enabled = _flag(body, "enabled", True)
        listen = text(body, "listen", "") or "localhost:0"
        address_of(listen), address_of(upstream)
        if name in self.all:
            raise ApiError(409, "proxy already exists")
        if len(self.all) >= _MAX_PROXIES:
            raise ApiError(500, f"there are {_MAX_PROXIES} proxies already")
        proxy = Proxy(name, listen, upstream, self._random)
        if enabled:
            await proxy.start()
        self.all[name] = proxy
        return proxy

    async def put(self, body: Mapping[str, Any]) -> Proxy:
        """Create the proxy, or update it. With another address its toxics are removed, as if it were created anew."""
        async with self._turn:
            old = self.all.get(name_of(body))
            if old is None:
                return await self._create(body)
            if (text(body, "listen", ""), text(body, "upstream", "")) == (old.listen, old.upstream):
                await self._update(old, body)
            else:
                await self._update(old, {"enabled": True, **body})
                old.set([])
            return old

    async def update(self, proxy: Proxy, body: Mapping[str, Any]) -> None:
        async with self._turn:
            if self.all.get(proxy.name) is not proxy:  # it was deleted meanwhile
                raise ApiError(404, "proxy not found")
            await self._update(proxy, body)

    async def _update(self, proxy: Proxy, body: Mapping[str, Any]) -> None:
        listen = text(body, "listen", "") or proxy.listen
        upstream = text(body, "upstream", "") or proxy.upstream
        address_of(listen), address_of(upstream)
        await proxy.update(listen, upstream, _flag(body, "enabled", proxy.enabled))

    async def delete(self, name: str) -> None:
        async with self._turn:
            await self.find(name).close()
            del self.all[name]

    async def reset(self) -> None:
        """Enable all, and remove all toxics."""
        async with self._turn:
            for proxy in self.all.values():
                await proxy.start()
                proxy.set([])

    async def close(self) -> None:
        for proxy in self.all.values():
            await proxy.close()


def _flag(body: Mapping[str, Any], name: str, default: bool) -> bool:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise bad_request(f"{name} is true or false")
    return value


def _reached(host: str) -> str:
    """Return the address at which a listening host is reached from here."""
    host = told_of(host).host
    return f"[{host}]" if ":" in host else host
