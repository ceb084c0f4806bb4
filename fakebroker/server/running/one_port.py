"""A port that stays reserved on all addresses of a host, whether it listens or not.

Theory   A name such as localhost has an address of each family. The system picks a different free port for each of
         them, but clients are told one port, and take any of the addresses.
         A socket that is bound and does not listen refuses connections. No other process gets its port, neither for a
         listener nor as a client's own port. So from `take` to `close` one such socket, the keeper, reserves the port
         on each address. Listening sockets share it with the keeper: on Linux sockets of one user do if all of them
         have SO_REUSEPORT. The keeper has no SO_REUSEADDR, which would share the port too. It gets
         SO_REUSEPORT only after the bind: before, that would let two clusters take the same port.
         On other systems a connection might be given to a socket that does not listen. There the keeper is closed while
         others listen, and bound again in the same step in which they are closed.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

from fakebroker.server.turn.turns import turns

LOOPBACK = "127.0.0.1"

_TRIES = 20  # some ports are free on one address only
_BACKLOG = 100  # the default of asyncio.
# In the turn before a listener closes, asyncio loses, and leaks, connections that it has accepted
# (python/cpython#109564). So we stop accepting first, and let in the accepted connections before the close.
_TURNS_BEFORE_CLOSE = 4

_CAN_SHARE = sys.platform == "linux"
_PASSIVE = socket.AI_PASSIVE
_RESOLVER = "fakebroker-resolver"
_MOST_RESOLVERS = 16  # threads, of names that were given up too

_Info = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[Any, ...]]


class Port:
    """A reserved port, made by `take`. It refuses connections until `open`. Use it on one event loop."""

    def __init__(self, addresses: list[_Info], keepers: list[socket.socket]) -> None:
        self._addresses = addresses
        self._keepers = keepers
        self._servers: list[asyncio.Server] = []
        self.number: int = keepers[0].getsockname()[1]

    @classmethod
    async def take(cls, host: str | None, port: int) -> Self:
        """Reserve that port, or, if it is 0, one that is free on all addresses. Raises OSError, of which
        socket.gaierror is one, and ValueError for a host that no resolver accepts."""
        infos = await _addresses(host, port)
        for _ in range(_TRIES):
            addresses: list[_Info] = []
            keepers: list[socket.socket] = []
            try:
                for info in infos:
                    keeper = _keeper(info, keepers[0].getsockname()[1] if keepers else port)
                    if keeper is not None:
                        addresses.append(info)
                        keepers.append(keeper)
            except OSError as error:
                _close_all(keepers)
                if error.errno == errno.EADDRINUSE and not port:
                    continue
                raise
            if not keepers:
                raise OSError(errno.EADDRNOTAVAIL, f"this machine has none of the addresses of {host!r}")
            return cls(addresses, keepers)
        raise OSError(errno.EADDRINUSE, f"no port is free on all addresses of the host, in {_TRIES} tries")

    @property
    def is_open(self) -> bool:
        return bool(self._servers)

    async def open(self, new_protocol: Callable[[], asyncio.BaseProtocol], backlog: int = _BACKLOG) -> None:
        """Accept connections; do nothing if it does already. If it raises OSError, the port still refuses
        connections."""
        if self.is_open:
            return
        loop = asyncio.get_running_loop()
        if not _CAN_SHARE:
            _close_all(self._keepers)
        try:
            for info in self._addresses:
                sock = _bound(info, self.number, shares=_CAN_SHARE)
                try:
                    server = await loop.create_server(new_protocol, sock=sock, backlog=backlog, start_serving=False)
                except BaseException:
                    sock.close()
                    raise
                self._servers.append(server)
                await server.start_serving()
        except BaseException:
            self._refuse()
            raise

    async def refuse(self) -> None:
        """Refuse connections, after the connections accepted so far are let in."""
        if self.is_open:
            await turns(_TURNS_BEFORE_CLOSE)
            loop = asyncio.get_running_loop()
            for server in self._servers:
                for sock in server.sockets:
                    loop.remove_reader(sock.fileno())
            await turns(_TURNS_BEFORE_CLOSE)
            self._refuse()

    def _refuse(self) -> None:
        for server in self._servers:
            server.close()
        self._servers.clear()
        if not _CAN_SHARE:
            _close_all(self._keepers)
            self._keepers += filter(None, [_keeper(info, self.number) for info in self._addresses])

    def close(self) -> None:
        """Release the port at once."""
        self._refuse()
        _close_all(self._keepers)

    def descriptors(self) -> list[int]:
        """Return the descriptors of all open sockets."""
        listening = [sock for server in self._servers for sock in server.sockets]
        return [sock.fileno() for sock in (*self._keepers, *listening)]


def needs_resolver(host: str | None) -> bool:
    """Return False for an address, which is known at once."""
    return _numeric(host, 0) is None


async def _addresses(host: str | None, port: int) -> list[_Info]:
    """Return the addresses of a host, each once."""
    infos = _numeric(host, port)
    return list(dict.fromkeys(await _resolved(host, port) if infos is None else infos))


def _numeric(host: str | None, port: int) -> list[_Info] | None:
    try:
        return [*socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=_PASSIVE | socket.AI_NUMERICHOST)]
    except (socket.gaierror, ValueError):
        return None


async def _resolved(host: str | None, port: int) -> list[_Info]:
    """Return the addresses of a name. A resolver can take many seconds and cannot be interrupted. The threads of the
    loop would delay the end of the process by that; this one does not. Raises OSError if too many threads resolve
    already."""
    if sum(thread.name == _RESOLVER for thread in threading.enumerate()) >= _MOST_RESOLVERS:
        raise OSError(errno.EAGAIN, f"{_MOST_RESOLVERS} names of hosts are being resolved already")
    loop = asyncio.get_running_loop()
    resolved: asyncio.Future[list[_Info]] = loop.create_future()

    def end(infos: list[_Info], error: Exception | None) -> None:
        if resolved.cancelled():
            return
        if error is None:
            resolved.set_result(infos)
        else:
            resolved.set_exception(error)

    def resolve() -> None:
        infos: list[_Info] = []
        failed: Exception | None = None
        try:
            infos += socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=_PASSIVE)
        except Exception as error:
            failed = error
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(end, infos, failed)

    try:
        threading.Thread(target=resolve, name=_RESOLVER, daemon=True).start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, f"{host!r} cannot be resolved: {error}") from None
    return await resolved


def _keeper(info: _Info, port: int) -> socket.socket | None:
    """Return a bound socket. None if this machine does not have the family or the address."""
    try:
        sock = _bound(info, port)
    except OSError as error:
        if error.errno in (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.EADDRNOTAVAIL):
            return None
        raise
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    if _CAN_SHARE:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    return sock


def _bound(info: _Info, port: int, shares: bool = False) -> socket.socket:
    family, kind, protocol, _, address = info
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # an earlier life may have connections
        if shares:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address[0], port, *address[2:]))
    except OSError as error:
        sock.close()
        why = f"error while attempting to bind on address {(address[0], port)!r}: {(error.strerror or '').lower()}"
        raise OSError(error.errno, why) from None
    return sock


def _close_all(sockets: list[socket.socket]) -> None:
    for sock in sockets:
        sock.close()
    sockets.clear()


def bound_host(host: str) -> str | None:
    """Return the host as the system is asked to listen on it. None means all addresses of both families; Kafka's `::`
    does, too."""
    return None if host in ("", "::") else host


def without_brackets(host: str) -> str:
    """Return an IPv6 address without the brackets that separate it from a port."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host
