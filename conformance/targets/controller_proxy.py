"""A proxy before Kafka's controller, which can cut off brokers from it, one by one.

Every broker, and the controller itself, is told that the controller listens here. A connection belongs to the broker
with the id at the end of the client id of its first request. That is "2" for a broker's own requests, "raft-client-2"
for the metadata log.
"""

from __future__ import annotations

import re
import socket
import struct
import threading
from contextlib import suppress
from typing import Final

_HEADER: Final = struct.Struct(">ihhih")  # size, API key, version, correlation id, length of the client id
_CHUNK: Final = 65_536


class ControllerProxy:
    """Listens on `port`, and passes everything on to `controller_port`, except from brokers that are cut off."""

    def __init__(self, port: int, controller_port: int) -> None:
        self._controller_port = controller_port
        self._listener = socket.create_server(("127.0.0.1", port))
        self._lock = threading.Lock()
        self._cut: set[int] = set()
        self._open: dict[socket.socket, int] = {}  # both ends, and the broker of the connection
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, broker: int) -> None:
        """Cut off a broker from the controller: its connections are closed, and new ones are too."""
        with self._lock:
            self._cut.add(broker)
            for end in [end for end, whose in self._open.items() if whose == broker]:
                _close(end)

    def heal(self, broker: int) -> None:
        """Let a broker reach the controller again."""
        with self._lock:
            self._cut.discard(broker)

    def stop(self) -> None:
        """Listen no more."""
        _close(self._listener)
        self._listener.close()
        with self._lock:
            for end in list(self._open):
                _close(end)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            first = client.recv(_CHUNK)
            while 0 < len(first) < _HEADER.size + 32 and len(first) < 4 + int.from_bytes(first[:4]):
                part = client.recv(_CHUNK)
                if not part:
                    return
                first += part
            broker = whose(first)
            with socket.create_connection(("127.0.0.1", self._controller_port)) as controller:
                with self._lock:
                    if broker in self._cut:
                        return
                    self._open[client] = self._open[controller] = broker
                try:
                    controller.sendall(first)
                    threading.Thread(target=_pump, args=(controller, client), daemon=True).start()
                    _pump(client, controller)
                finally:
                    with self._lock:
                        del self._open[client], self._open[controller]


def whose(first: bytes) -> int:
    """The broker that sent these first bytes of a connection; -1 if that cannot be told."""
    if len(first) < _HEADER.size:
        return -1
    size = _HEADER.unpack_from(first)[-1]
    client_id = first[_HEADER.size : _HEADER.size + max(size, 0)].decode(errors="replace")
    match = re.search(r"(\d+)$", client_id)
    return int(match[1]) if match else -1


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            sink.sendall(data)
    for end in (source, sink):
        _close(end)


def _close(end: socket.socket) -> None:
    """Shut a connection down, so that its reader wakes up too."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
