"""The memory limit for the requests of a broker, from when their size is known until they are handled:
queued.max.request.bytes.

Theory   A request gets its memory as soon as its size is known, if at least one byte is left. So the limit may be
         exceeded by one request. Without memory left the connection is not read until another request was handled, or
         its connection closed. A parked request has returned its memory.
Units    bytes.
Source   clients/.../common/memory/SimpleMemoryPool.java, not strict; NetworkReceive.readFrom; core/.../network/
         SocketServer.scala `memoryPool`, RequestChannel.scala Request.releaseBuffer @ 4.0.
Differs  Bytes that a client sends behind its current request are in our memory as well, up to one read of a socket.
         Kafka leaves them to the system.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import final

from fakebroker.network.connection import Connection
from fakebroker.network.ready_queue import ReadyQueue


@final
class RequestMemory:
    """The memory of one broker. Connections that wait for memory are queued again when there is some."""

    __slots__ = ("_available", "_max_bytes", "_ready", "_starved")

    def __init__(self, max_bytes: int, ready: ReadyQueue) -> None:
        self._max_bytes = max_bytes
        self._available = max_bytes
        self._ready = ready
        self._starved: OrderedDict[Connection, None] = OrderedDict()

    def take(self, connection: Connection) -> bool:
        """Take the memory of the next request. Return False if none is left; if its size is not known yet, return
        True."""
        if connection.memory_bytes == 0:
            size = connection.decoder.next_size()
            if size > 0:
                if self._available < 1:
                    self._starved[connection] = None
                    return False
                self._available -= size
                connection.memory_bytes = size
        return True

    def give_back(self, connection: Connection) -> None:
        """Return the memory of a request that was handled, or of a closed connection."""
        self._starved.pop(connection, None)
        if connection.memory_bytes:
            self._available += connection.memory_bytes
            connection.memory_bytes = 0
            if self._available > 0 and self._starved:
                for starved in self._starved:
                    self._ready.add(starved)
                self._starved.clear()

    def check_invariants(self, taken_bytes: int) -> None:
        assert self._available == self._max_bytes - taken_bytes
        assert not self._starved or self._available < 1
