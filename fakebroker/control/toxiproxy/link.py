"""One connection through a proxy, in one direction: its bytes go through the toxics one after the other.

Theory   Each piece is queued with the time of its receipt, so that latency delays and does not slow down. The toxics
         are looked up for each piece: a new one acts at once, on open connections too. `timeout` and `reset_peer` drop
         all bytes, and close the connection after their time.
Units    seconds of the event loop; toxics have milliseconds.
Source   toxiproxy 2.x link.go, toxics/*.go.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from random import Random

from fakebroker.control.toxiproxy.toxics import Toxic

_READ_BYTES = 65_536
_PIECES = 1_024  # queued pieces; then reading stops
_BYTES_AT_ONCE = 100  # for each KB/s of the rate: the bytes of 100 ms
_DROPS = ("timeout", "reset_peer")


class Link:
    """One direction. `toxics` are its present toxics; `end` closes the whole connection, with RST if its argument is
    True."""

    def __init__(self, toxics: Callable[[], list[Toxic]], end: Callable[[bool], None], random: Random) -> None:
        self._toxics = toxics
        self._end = end
        self._random = random
        self._draws: dict[str, float] = {}  # by the name of a toxic
        self._sent: dict[str, int] = {}  # bytes, by the name of a limit_data
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._timed_out: set[str] = set()  # names of its `timeout` toxics
        self._pieces: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue(_PIECES)

    def mine(self) -> list[Toxic]:
        """Return the toxics of this connection, drawn by chance."""
        drawn = []
        for toxic in self._toxics():
            draw = self._draws.setdefault(toxic.name, self._random.random())
            if draw < toxic.toxicity:
                drawn.append(toxic)
        return drawn

    def update(self) -> None:
        """Handle a change of the toxics: start or end their timers."""
        mine = {toxic.name: toxic for toxic in self.mine()}
        for name in list(self._timers):
            self._timers.pop(name).cancel()
        gone = self._timed_out - mine.keys()
        self._timed_out = {name for name, toxic in mine.items() if toxic.type == "timeout"}
        if gone:  # as in toxiproxy: its removal closes the connections that had it
            self._end(False)
            return
        loop = asyncio.get_running_loop()
        for name, toxic in mine.items():
            if toxic.type == "reset_peer":
                self._timers[name] = loop.call_later(toxic.attributes["timeout"] / 1000, self._end, True)
            elif toxic.type == "timeout" and toxic.attributes["timeout"]:
                self._timers[name] = loop.call_later(toxic.attributes["timeout"] / 1000, self._end, False)

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()

    async def read_from(self, reader: asyncio.StreamReader) -> None:
        """Read until the end of the stream."""
        loop = asyncio.get_running_loop()
        try:
            while data := await reader.read(_READ_BYTES):
                await self._pieces.put((loop.time(), data))
        except OSError:
            pass
        await self._pieces.put(None)

    async def write_to(self, writer: asyncio.StreamWriter) -> None:
        """Write the bytes that pass, until there are no more."""
        while (piece := await self._pieces.get()) is not None:
            if not await self._pass(writer, *piece):
                return
        for toxic in self.mine():
            if toxic.type == "slow_close":
                await asyncio.sleep(toxic.attributes["delay"] / 1000)
        self._end(False)

    async def _pass(self, writer: asyncio.StreamWriter, came_s: float, data: bytes) -> bool:
        """Pass one piece through the toxics. Return True if the connection goes on."""
        loop = asyncio.get_running_loop()
        sizes = [len(data)]
        rate, pause_s = 0, 0.0
        limit: int | None = None
        for toxic in self.mine():
            of = toxic.attributes
            if toxic.type in _DROPS:
                return True
            if toxic.type == "latency":
                jitter_ms = (2 * self._random.random() - 1) * of["jitter"]
                await asyncio.sleep(max(came_s + (of["latency"] + jitter_ms) / 1000 - loop.time(), 0))
            elif toxic.type == "bandwidth":
                if not of["rate"]:
                    await self._until_it_changes(toxic)
                    return await self._pass(writer, came_s, data)
                rate = min(rate or of["rate"], of["rate"])
                sizes = self._slices(len(data), rate * _BYTES_AT_ONCE, 0)
            elif toxic.type == "slicer" and of["average_size"]:
                sizes = self._slices(len(data), of["average_size"], of["size_variation"])
                pause_s = of["delay"] / 1_000_000
            elif toxic.type == "limit_data":
                left = max(of["bytes"] - self._sent.get(toxic.name, 0), 0)
                limit = left if limit is None else min(limit, left)
                self._sent[toxic.name] = self._sent.get(toxic.name, 0) + min(len(data), left)
        is_last = limit is not None and limit <= len(data)
        data = data if limit is None else data[:limit]
        begin = 0
        for size in sizes:
            part, begin = data[begin : begin + size], begin + size
            if part:
                if rate:
                    await asyncio.sleep(len(part) / (rate * 1000))
                try:
                    writer.write(part)
                    await writer.drain()
                except OSError:
                    return False
                if pause_s:
                    await asyncio.sleep(pause_s)
        if is_last:
            self._end(False)
        return not is_last

    async def _until_it_changes(self, toxic: Toxic) -> None:
        """Wait while the rate is 0, until the toxic is changed."""
        while toxic in self.mine():
            await asyncio.sleep(0.01)

    def _slices(self, size: int, average: int, variation: int) -> list[int]:
        sizes: list[int] = []
        while size > 0:
            part = max(1, average + self._random.randint(-variation, variation) if variation else average)
            sizes.append(min(part, size))
            size -= part
        return sizes


def reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST; unread bytes are lost."""
    sock = writer.get_extra_info("socket")
    if sock is not None and sock.fileno() >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
