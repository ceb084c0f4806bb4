"""A raw sink on uvloop: cuts the same frames and answers each, under its correlation id, with ANSWER_BYTES. Nothing
more. Prints its port.

What a Python broker cannot beat; our share of it is what the broker's work costs. Ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import cast

import uvloop

PREFIX = 12  # of a request: length, API key and version, correlation id
ID_AT = 8


class Sink(asyncio.Protocol):
    def __init__(self, answer_bytes: int) -> None:
        self._length = (answer_bytes - 4).to_bytes(4, "big")
        self._body = bytes(answer_bytes - 8)
        self._head = b""  # the beginning of a prefix
        self._skip = 0  # bytes of a frame to come
        self._answer = b""  # of that frame

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own has another base

    def data_received(self, data: bytes) -> None:
        if self._head:
            data = self._head + data
        size = len(data)
        at = self._skip
        answers = [self._answer] if 0 < at <= size else []
        while at <= size - PREFIX:
            self._answer = self._length + data[at + ID_AT : at + PREFIX] + self._body
            at += 4 + int.from_bytes(data[at : at + 4], "big")
            if at <= size:
                answers.append(self._answer)
        self._head = data[at:]
        self._skip = max(at - size, 0)
        if answers:
            self._transport.write(b"".join(answers))


async def serve(answer_bytes: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Sink(answer_bytes), "127.0.0.1", 0)
    ended = asyncio.Event()
    loop.add_reader(sys.stdin, ended.set)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await ended.wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
