"""How much the requests of a broker may take from when their size is known until they are handled:
queued.max.request.bytes.

Theory   A request gets its memory as soon as its size is known, if there is any left, be it one byte: so what is taken
         may be as much as one request more. Who finds nothing left is not read until somebody's request was handled, or
         somebody has gone. A request that waits in a purgatory has given its memory back.
Units    bytes.
Source   clients/.../common/memory/SimpleMemoryPool.java, not strict; NetworkReceive.readFrom; core/.../network/
         SocketServer.scala `memoryPool`, RequestChannel.scala Request.releaseBuffer @ 4.0.
Differs  What a client sends behind the request in hand is in our memory as well, up to what is read from a socket at
         once; Kafka leaves it to the system.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import final

from fakebroker.network.connection import Connection
from fakebroker.network.ready_queue import ReadyQueue


@final
class RequestMemory:
    """Of one broker. Who gets its turn when there is memory again is put into the queue."""

    __slots__ = ("_available", "_max_bytes", "_ready", "_starved")

    def __init__(self, max_bytes: int, ready: ReadyQueue) -> None:
        self._max_bytes = max_bytes
        self._available = max_bytes
        self._ready = ready
        self._starved: OrderedDict[Connection, None] = OrderedDict()

    def take(self, connection: Connection) -> bool:
        """Have memory for the request that comes next. False if there is none; if its size is not known yet, that is
        no hindrance."""
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
        """The request was handled, or its connection has gone."""
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
