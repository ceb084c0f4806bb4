"""The sockets of a producer: the effects of its machine are applied on a loop, and network events are passed back.

Theory   A link belongs to one connection number of the machine. A dropped link passes on no more events. Events are
         passed in iterations of the loop, so one call of the machine never runs inside another.
Errors   Network errors are never raised: an unreachable broker and a broken connection are lost connections. The
         reasons go to the log `fakebroker.producing`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Protocol, cast

from fakebroker.producer.client.effects import CloseConnection, Connect, Effect, SendBytes

_LINGER_S: Final = 5.0
_log = logging.getLogger("fakebroker.producing")


class LinkListener(Protocol):
    """The receiver of network events."""

    def connected(self, number: int) -> None: ...

    def received(self, number: int, data: bytes) -> None: ...

    def lost(self, number: int) -> None: ...


class _Link(asyncio.Protocol):
    def __init__(self, links: Links, number: int, address: str) -> None:
        self._links = links
        self.number = number
        self.address = address
        self.transport: asyncio.Transport | None = None
        self.attempt: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's class has another base
        if self._links.has(self):
            self._links.hearer.connected(self.number)
        else:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._links.has(self):
            self._links.hearer.received(self.number, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._links.end(self)
        self._links.lose(self, f"it ended: {exc}" if exc else "the broker closed it")


class Links:
    def __init__(self, loop: asyncio.AbstractEventLoop, hearer: LinkListener) -> None:
        self._loop = loop
        self.hearer = hearer
        self._by_number: dict[int, _Link] = {}
        self._ending: dict[_Link, asyncio.Future[None]] = {}

    def do(self, effect: Effect) -> None:
        match effect:
            case Connect(number, host, port):
                link = self._by_number[number] = _Link(self, number, f"{host}:{port}")
                link.attempt = self._loop.create_task(self._connect(link, host, port))
            case SendBytes():
                sender = self._by_number.get(effect.connection)
                if sender is not None and sender.transport is not None:
                    sender.transport.write(effect.data)
            case CloseConnection(number, reason):
                gone = self._by_number.pop(number, None)
                if gone is not None:
                    if reason:
                        _log.warning("The connection to %s is closed: %s", gone.address, reason)
                    self._drop(gone)

    def has(self, link: _Link) -> bool:
        return self._by_number.get(link.number) is link

    def lose(self, link: _Link, reason: str) -> None:
        if self.has(link):
            del self._by_number[link.number]
            _log.info("The connection to %s is lost: %s", link.address, reason)
            self.hearer.lost(link.number)

    def end(self, link: _Link) -> None:
        over = self._ending.pop(link, None)
        if over is not None and not over.done():
            over.set_result(None)

    async def ended(self) -> None:
        """Wait until all bytes written to dropped connections are sent."""
        if self._ending:
            await asyncio.wait(list(self._ending.values()))

    def close(self) -> None:
        """Drop all links; no more events are passed on."""
        links, self._by_number = self._by_number, {}
        for link in links.values():
            self._drop(link)

    async def _connect(self, link: _Link, host: str, port: int) -> None:
        try:
            await self._loop.create_connection(lambda: link, host, port)
        except (OSError, ValueError) as error:  # ValueError: an invalid host name (UnicodeError)
            self.lose(link, f"it could not be made: {error}")

    def _drop(self, link: _Link) -> None:
        if link.transport is None:
            assert link.attempt is not None
            link.attempt.cancel()
        else:
            # Bytes already written must still be sent, above all with acks=0. But a broker that does not read must not
            # block for ever.
            transport = link.transport
            if transport.get_write_buffer_size():
                self._ending[link] = self._loop.create_future()
                self._loop.call_later(_LINGER_S, transport.abort)
            transport.close()
