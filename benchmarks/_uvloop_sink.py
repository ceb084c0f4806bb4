"""A raw sink on uvloop: cuts the same frames and answers each with ANSWER_BYTES, nothing more. Prints its port.

What a Python broker cannot beat; our share of it is what the broker's work costs. Ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import cast

import uvloop


class Sink(asyncio.Protocol):
    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._head = b""  # the beginning of a length
        self._skip = 0  # bytes of a frame to come

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own has another base

    def data_received(self, data: bytes) -> None:
        if self._head:
            data = self._head + data
        size = len(data)
        at = self._skip
        frames = 1 if 0 < at <= size else 0
        while at <= size - 4:
            at += 4 + int.from_bytes(data[at : at + 4], "big")
            if at <= size:
                frames += 1
        self._head = data[at:]
        self._skip = max(at - size, 0)
        if frames:
            self._transport.write(self._answer * frames)


async def serve(answer_bytes: int) -> None:
    loop = asyncio.get_running_loop()
    answer = (answer_bytes - 4).to_bytes(4, "big") + bytes(answer_bytes - 4)
    server = await loop.create_server(lambda: Sink(answer), "127.0.0.1", 0)
    ended = asyncio.Event()
    loop.add_reader(sys.stdin, ended.set)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await ended.wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
