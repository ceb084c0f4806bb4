"""The sockets of a producer: what its machine wants done on the network is done on a loop, and what happens is told.

Theory   A link belongs to one number of the machine. Of a link that was given up nothing more is told. News are told
         in turns of the loop, so no door of the machine is called from within another.
Errors   What the network does is never raised: a broker that cannot be reached, and a connection that breaks, are lost
         connections. Reasons go to the log `fakebroker.producing`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Protocol, cast

from fakebroker.producer.client.effects import Connect, Disconnect, Effect, SendBytes

_LINGER_S: Final = 5.0
_log = logging.getLogger("fakebroker.producing")


class Hearer(Protocol):
    """Whom a network's news are told."""

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
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its base class
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
    def __init__(self, loop: asyncio.AbstractEventLoop, hearer: Hearer) -> None:
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
            case Disconnect(number, reason):
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
        """Until all that was written to connections that are given up is on its way."""
        if self._ending:
            await asyncio.wait(list(self._ending.values()))

    def close(self) -> None:
        """Nothing more is told."""
        links, self._by_number = self._by_number, {}
        for link in links.values():
            self._drop(link)

    async def _connect(self, link: _Link, host: str, port: int) -> None:
        try:
            await self._loop.create_connection(lambda: link, host, port)
        except (OSError, ValueError) as error:  # ValueError: a name that is none (UnicodeError)
            self.lose(link, f"it could not be made: {error}")

    def _drop(self, link: _Link) -> None:
        if link.transport is None:
            assert link.attempt is not None
            link.attempt.cancel()
        else:
            # What was written is still to go out, above all with acks=0; but nobody waits for ever for a broker that
            # does not read.
            transport = link.transport
            if transport.get_write_buffer_size():
                self._ending[link] = self._loop.create_future()
                self._loop.call_later(_LINGER_S, transport.abort)
            transport.close()
