"""A closed connection and its requests leave nothing for the garbage collector."""

from __future__ import annotations

import gc
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from support.raw_client import RawClient
from support.requests import produce
from support.watchdog import wait_until

from fakebroker import FakeCluster
from fakebroker.server.loops import NAME as LOOP_NAME

pytestmark = pytest.mark.skipif(LOOP_NAME != "uvloop", reason="asyncio's own transports are garbage when they close")

CONNECTIONS = 5
PRODUCED = produce("t", timeout_ms=50)
API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)
RESET = struct.pack("ii", 1, 0)
REQUESTS = {
    "nothing": b"",
    "half a request": PRODUCED[:40],
    "a request that times out": PRODUCED,
    "one request behind another": PRODUCED * 2,
    "a topic that is not there": produce("nowhere"),
    "an API that is not there": struct.pack(">ihhih", 10, 999, 0, 1, -1),
    "a length that cannot be": b"\xff" * 8,
    "a body that cannot be read": struct.pack(">ihhih", 10, 0, 3, 1, -1),
    "a request that is answered": API_VERSIONS,
}


@pytest.fixture(autouse=True)
def collected_is_kept() -> Iterator[None]:
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    yield
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


def collected() -> Counter[str]:
    """Return the present garbage: the number of objects by class of the broker and of the loop."""
    gc.collect()
    names = (f"{type(thing).__module__}.{type(thing).__name__}" for thing in gc.garbage)
    return Counter(name for name in names if name.startswith(("fakebroker.", "timingwheel.", "uvloop.")))


@pytest.mark.parametrize("reset", [True, False], ids=["reset", "closed"])
@pytest.mark.parametrize("data", REQUESTS.values(), ids=REQUESTS.keys())
def test_a_connection_that_ends_leaves_no_garbage(data: bytes, reset: bool) -> None:
    with FakeCluster(followers="frozen", journal=0) as kafka:
        kafka.create_topic("t", 1, 3)
        clients = [RawClient(kafka.endpoints[0]) for _ in range(CONNECTIONS)]
        for client in clients:
            client.send(data)
        for client in clients:
            if reset:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            client.socket.close()
        with RawClient(kafka.endpoints[0]) as last:  # by then those before it have been accepted
            last.ask(API_VERSIONS)
        server = kafka._cluster.server.driver
        wait_until(lambda: not server.transports and not server.cluster.has_deadlines, "the end of all there was")

        assert not collected()


def test_garbage_is_seen() -> None:
    with FakeCluster(journal=0) as kafka:
        client = RawClient(kafka.endpoints[0])
        client.ask(API_VERSIONS)
        server = kafka._cluster.server.driver
        (transport,) = server.transports.values()
        protocol: Any = transport.get_protocol()
        protocol.ring = protocol
        del protocol, transport
        client.socket.close()
        wait_until(lambda: not server.transports, "the end of the connection")

        assert collected()["fakebroker.server.kafka_protocol.KafkaProtocol"] == 1
