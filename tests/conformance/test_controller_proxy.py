"""The proxy before Kafka's controller, which can cut off brokers from it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from support.ports import free_ports
from support.requests import request
from support.watchdog import LIMIT_S

from conformance.targets.controller_proxy import ControllerProxy, whose

API_VERSIONS = 18
ASKED = {"client_software_name": "", "client_software_version": ""}


def hello(client_id: str) -> bytes:
    return request(API_VERSIONS, 3, ASKED, client_id=client_id)


@pytest.mark.parametrize(
    ("first", "broker"),
    [(hello("2"), 2), (hello("raft-client-13"), 13), (hello("somebody"), -1), (hello("2")[:10], -1), (b"", -1)],
)
def test_a_connection_is_of_the_broker_that_its_client_id_ends_with(first: bytes, broker: int) -> None:
    assert whose(first) == broker


@pytest.fixture
def ports() -> Iterator[tuple[int, int]]:
    """Return the ports of the proxy, and of a controller that repeats what it receives."""
    controller = socket.create_server(("127.0.0.1", 0))

    def echo(client: socket.socket) -> None:
        with client:
            while data := client.recv(1024):
                client.sendall(data)

    def serve() -> None:
        try:
            while True:
                threading.Thread(target=echo, args=(controller.accept()[0],), daemon=True).start()
        except OSError:
            return

    threading.Thread(target=serve, daemon=True).start()
    with controller:
        yield free_ports(1), controller.getsockname()[1]
        controller.shutdown(socket.SHUT_RDWR)


def connect(port: int, client_id: str) -> tuple[socket.socket, bytes]:
    """A connection, and what came back by it: nothing if it was closed."""
    client = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
    client.sendall(hello(client_id))
    try:
        return client, client.recv(1024)
    except ConnectionResetError:
        return client, b""


def test_a_cut_off_broker_loses_its_connections_and_gets_no_new_ones(ports: tuple[int, int]) -> None:
    proxy = ControllerProxy(*ports)
    two, answer = connect(ports[0], "raft-client-2")
    assert answer == hello("raft-client-2")
    three, _ = connect(ports[0], "3")
    proxy.cut(2)
    assert two.recv(1024) == b""
    refused, answer = connect(ports[0], "2")
    assert answer == b""
    three.sendall(b"more")
    assert three.recv(1024) == b"more"
    proxy.heal(2)
    again, answer = connect(ports[0], "2")
    assert answer == hello("2")
    proxy.stop()
    assert again.recv(1024) == b""
    with pytest.raises(ConnectionRefusedError):
        connect(ports[0], "2")
    for client in (two, three, refused, again):
        client.close()


def test_a_connection_that_ends_within_its_first_frame_is_closed(ports: tuple[int, int]) -> None:
    proxy = ControllerProxy(*ports)
    with socket.create_connection(("127.0.0.1", ports[0]), timeout=LIMIT_S) as client:
        client.sendall(hello("2")[:10])
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1024) == b""
    proxy.stop()
