"""The life of a cluster in a test: it starts, takes a record, gives it back, and is gone."""

from __future__ import annotations

import socket

from fakebroker import FakeCluster

_PREFIX = 4  # bytes that say how long a frame is


def converse(address: tuple[str, int], *requests: bytes) -> list[bytes]:
    """The answers to these requests, one after the other over one connection."""
    with socket.create_connection(address, timeout=30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return [_ask(connection, request) for request in requests]


def _ask(connection: socket.socket, request: bytes) -> bytes:
    connection.sendall(request)
    data = b""
    while len(data) < _PREFIX or len(data) < _PREFIX + int.from_bytes(data[:_PREFIX], "big"):
        part = connection.recv(1 << 16)
        if not part:
            raise RuntimeError(f"{connection.getpeername()} closed the connection")
        data += part
    return data


def live(*requests: bytes) -> list[bytes]:
    """One life of three brokers, in this process."""
    with FakeCluster(brokers=3) as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=3)
        endpoint = kafka.endpoints[0]
        return converse((endpoint.host, endpoint.port), *requests)
