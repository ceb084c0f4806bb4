"""A host with several addresses has one port (server/running/one_port.py)."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from support.ports import can_listen
from support.watchdog import LIMIT_S

from fakebroker import FakeCluster
from fakebroker.server.loops import new_event_loop
from fakebroker.server.made.everywhere import told_of
from fakebroker.server.running.one_port import bound_host, on_one_port, without_brackets

needs_ipv6 = pytest.mark.skipif(not can_listen("::1"), reason="this system has no IPv6")


def connects(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), LIMIT_S).close()
    except ConnectionRefusedError:
        return False
    return True


class Scripted:
    """Gives the ports that it is told to give, one call after the other; None: the port is taken."""

    def __init__(self, *script: tuple[int, ...] | None) -> None:
        self.script = list(script)
        self.asked: list[int] = []
        self.closed = 0

    async def listen(self, port: int) -> Any:
        self.asked.append(port)
        ports = self.script.pop(0)
        if ports is None:
            raise OSError(errno.EADDRINUSE, "taken")
        sockets = [SimpleNamespace(getsockname=lambda port=port: ("", port)) for port in ports]
        return SimpleNamespace(sockets=sockets, close=self.close, wait_closed=self.wait_closed)

    def close(self) -> None:
        self.closed += 1

    async def wait_closed(self) -> None:
        pass


def test_addresses_that_get_ports_of_their_own_share_the_first() -> None:
    scripted = Scripted((5001, 5002), (5001, 5001))
    listener = asyncio.run(on_one_port(scripted.listen, 0))
    assert [each.getsockname()[1] for each in listener.sockets] == [5001, 5001]
    assert (scripted.asked, scripted.closed) == ([0, 5001], 1)


def test_a_port_that_is_taken_on_another_address_is_left() -> None:
    scripted = Scripted((5001, 5002), None, (5003, 5004), (5003, 5003))
    asyncio.run(on_one_port(scripted.listen, 0))
    assert (scripted.asked, scripted.closed) == ([0, 5001, 0, 5003], 2)


def test_it_gives_up_with_a_sentence() -> None:
    scripted = Scripted(*[(5001, 5002), None] * 20)
    with pytest.raises(OSError, match="no port is free on all addresses of the host"):
        asyncio.run(on_one_port(scripted.listen, 0))


@needs_ipv6
@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, new_event_loop])
def test_both_families_of_a_real_loop(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def ports() -> set[int]:
        loop = asyncio.get_running_loop()

        def listen(port: int) -> Awaitable[asyncio.Server]:
            return loop.create_server(asyncio.Protocol, ["127.0.0.1", "::1"], port)

        listener = await on_one_port(listen, 0)
        found = {sock.getsockname()[1] for sock in listener.sockets}
        assert len(listener.sockets) == 2
        listener.close()
        await listener.wait_closed()
        return found

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert len(runner.run(ports())) == 1


@needs_ipv6
@pytest.mark.parametrize("host", ["", "::", "[::]"])
def test_every_address_is_every_family(host: str) -> None:
    with FakeCluster(brokers=2, host=host) as kafka:
        for broker in kafka.endpoints:
            assert connects("127.0.0.1", broker.port)
            assert connects("::1", broker.port)
        assert kafka.endpoints[0].host == told_of("").host


@needs_ipv6
def test_the_port_of_a_broker_that_stopped_is_kept_in_both_families() -> None:
    with FakeCluster(brokers=2, host="::") as kafka:
        port = kafka.endpoints[0].port
        kafka.brokers[1].stop()
        for address, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
            assert not connects(address, port)
            with closing(socket.socket(family)) as other, pytest.raises(OSError, match="in use"):
                other.bind((address, port))
        kafka.brokers[1].start()
        assert connects("127.0.0.1", port)
        assert connects("::1", port)


def test_hosts_as_they_are_given_and_bound() -> None:
    assert [without_brackets(host) for host in ("[::1]", "::1", "a", "")] == ["::1", "::1", "a", ""]
    assert [bound_host(host) for host in ("::", "", "::1", "localhost")] == [None, None, "::1", "localhost"]
