"""Connections that send one frame again and again over TLS, or without it, beside a quiet client.

A process of its own, `python -m benchmarks.tls.neighbours HOST PORT CONNECTIONS FRAME [CA]`. It prints "connected" and
waits for a line. Then each connection, a thread, sends the frame, reads the response, and begins again. At a second
line it prints the number of responses and ends.
"""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.drivers.driver import Address
from benchmarks.peers.brokers import dying_with_us

_READ_BYTES = 1 << 20
_LIMIT_S = 30.0


class Neighbours:
    """The process, connected and silent until `begin`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def begin(self) -> None:
        self._tell()

    def end(self) -> int:
        """Return the number of responses."""
        self._tell()
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def _tell(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()


@contextmanager
def neighbours(address: Address, frame: bytes, connections: int, ca: Path | None) -> Iterator[Neighbours]:
    """Connect so many; over TLS if there is a CA."""
    with tempfile.NamedTemporaryFile(prefix="benchmarks-", suffix=".frame") as file:
        file.write(frame)
        file.flush()
        words = [address[0], str(address[1]), str(connections), file.name, *([] if ca is None else [str(ca)])]
        process = subprocess.Popen(
            [*dying_with_us(), sys.executable, "-m", "benchmarks.tls.neighbours", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            if process.stdout.readline().strip() != "connected":
                raise ConnectionError("the neighbours did not connect")
            yield Neighbours(process)
        finally:
            process.kill()
            process.communicate()


class Connection:
    """One connection, and the number of its responses."""

    def __init__(self, address: Address, frame: bytes, context: ssl.SSLContext | None) -> None:
        self.responses = 0
        self._frame = frame
        self._socket = socket.create_connection(address, timeout=_LIMIT_S)
        if context is not None:
            self._socket = context.wrap_socket(self._socket, server_hostname="localhost")

    def run(self) -> None:
        buffer = memoryview(bytearray(_READ_BYTES))
        while True:
            self._socket.sendall(self._frame)
            size = int.from_bytes(self._exactly(4), "big")
            while size:
                size -= self._received(self._socket.recv_into(buffer, min(size, _READ_BYTES)))
            self.responses += 1

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            self._received(len(part))
            data += part
        return data

    def _received(self, size: int) -> int:
        if not size:
            raise ConnectionError("the broker closed the connection")
        return size


def main(host: str, port: str, connections: str, path: str, ca: str = "") -> None:
    context = ssl.create_default_context(cafile=ca) if ca else None
    frame = Path(path).read_bytes()
    all_of_them = [Connection((host, int(port)), frame, context) for _ in range(int(connections))]
    print("connected", flush=True)
    sys.stdin.readline()
    for connection in all_of_them:
        threading.Thread(target=connection.run, daemon=True).start()
    sys.stdin.readline()
    print(sum(connection.responses for connection in all_of_them), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
