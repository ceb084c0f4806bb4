"""A connection with one request at a time, as of a consumer: each response arrives before the next request.

Errors   ConnectionError if there is no connection, or no response in time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from fakebroker_load.wire.client import ClientConnection, Exchange, connect, internal

GRACE_MS = 5_000  # after the broker's allowed time


class Caller:
    """A connection with one request at a time. `first` is the first correlation id."""

    def __init__(self, connection: ClientConnection, place: str, first: int = 1) -> None:
        self._connection = connection
        self._place = place
        self._next = first

    @classmethod
    async def of(cls, host: str, port: int, first: int = 1) -> Self:
        """Return a caller on a new connection. Raises ConnectionError."""
        connection = await connect(host, port)
        if connection is None:
            raise ConnectionError(f"{host}:{port} does not answer")
        return cls(connection, f"{host}:{port}", first)

    @property
    def local(self) -> str:
        """Return our address, as the broker sees it unless a proxy is in between."""
        return self._connection.local

    @property
    def next_correlation_id(self) -> int:
        return self._next

    async def ask(self, encode: Callable[[int], bytes], wait_ms: int = 0) -> tuple[Exchange, bytes]:
        """Send a request, and return its exchange and the response. The broker may take `wait_ms`. Raises
        ConnectionError."""
        if self._connection.closed:  # by a response that was not asked for, or by the broker
            raise ConnectionError(f"{self._place} has closed the connection")
        exchange = internal(self._next, encode(self._next))
        exchange.timeout_ms = wait_ms
        self._next += 1
        self._connection.send(exchange)
        await self._connection.room(1, GRACE_MS)
        if exchange.answer is None:
            raise ConnectionError(f"{self._place} has not answered")
        return exchange, exchange.answer

    async def close(self) -> None:
        await self._connection.close()
