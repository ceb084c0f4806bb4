"""A blocking client that knows frames and nothing else."""

from __future__ import annotations

import socket
import struct
from types import TracebackType
from typing import Self

from fakebroker.protocol.produce_response import NodeEndpoint
from support.watchdog import LIMIT_S


class RawClient:
    """One connection to one broker."""

    def __init__(self, endpoint: NodeEndpoint) -> None:
        self.socket = socket.create_connection((endpoint.host, endpoint.port), timeout=LIMIT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, *frames: bytes) -> None:
        self.socket.sendall(b"".join(frames))

    def receive(self) -> bytes:
        """Return the next frame, without its length; raises EOFError if the broker closed the connection."""
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def ask(self, frame: bytes) -> bytes:
        self.send(frame)
        return self.receive()

    def end_sending(self) -> None:
        """Send FIN. Responses can still be read."""
        self.socket.shutdown(socket.SHUT_WR)

    def is_closed_by_broker(self) -> bool:
        """Return True if the broker closes without another byte (waits for it, at most LIMIT_S)."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                part = self.socket.recv(size - len(data))
            except TimeoutError as error:
                waited_s = self.socket.gettimeout()
                raise TimeoutError(f"waited {waited_s:g} s for the rest of {len(data)} of {size} bytes") from error
            if not part:
                raise EOFError(f"the broker closed the connection after {len(data)} of {size} bytes")
            data += part
        return bytes(data)
