"""A socket that a client drops is no failure of the test; conftest.py says which clients do that."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest
from kafka import KafkaProducer
from kafka.errors import KafkaError

pytestmark = pytest.mark.clients


@pytest.fixture
def full_server() -> Iterator[socket.socket]:
    """Yield a listening socket with a full backlog: a client that connects waits for ever."""
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        opened.enter_context(socket.create_connection(server.getsockname()))
        yield server


def test_kafka_python_gives_up_while_it_connects(full_server: socket.socket) -> None:
    host, port = full_server.getsockname()
    with pytest.raises(KafkaError):
        KafkaProducer(bootstrap_servers=f"{host}:{port}", bootstrap_timeout_ms=200)


def test_a_connected_socket_is_dropped() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        dropped = socket.create_connection(server.getsockname())
        del dropped
