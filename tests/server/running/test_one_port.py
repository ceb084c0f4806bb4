"""A port is one on all addresses of a host, and is kept (server/running/one_port.py)."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from support.ports import can_listen
from support.watchdog import LIMIT_S, run, within

from fakebroker import FakeCluster
from fakebroker.server.loops import new_event_loop
from fakebroker.server.made.everywhere import told_of
from fakebroker.server.running import one_port
from fakebroker.server.running.one_port import Port, bound_host, without_brackets

needs_ipv6 = pytest.mark.skipif(not can_listen("::1"), reason="this system has no IPv6")


def connects(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), LIMIT_S).close()
    except ConnectionRefusedError:
        return False
    return True


def bound(address: str, port: int, reuse: bool) -> socket.socket:
    """Return a socket of another program."""
    other = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    try:
        if reuse:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind((address, port))
        other.listen()
    except OSError:
        other.close()
        raise
    return other


class Closes(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


@pytest.fixture(params=[True, False], ids=["kept", "bound anew"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run on Linux, and on a system that does not share a port."""
    if request.param and sys.platform != "linux":
        pytest.skip("this system shares no port")
    monkeypatch.setattr(one_port, "_CAN_SHARE", request.param)


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, new_event_loop])
@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        ("127.0.0.1", ["127.0.0.1"]),
        ("0.0.0.0", ["127.0.0.1"]),
        pytest.param("::1", ["::1"], marks=needs_ipv6),
        pytest.param(None, ["127.0.0.1", "::1"], marks=needs_ipv6),
    ],
)
def test_a_closed_port_refuses_and_no_other_program_gets_it(
    new_loop: Callable[[], asyncio.AbstractEventLoop], host: str | None, addresses: list[str]
) -> None:
    """A socket that another program may share while it does not listen (SO_REUSEADDR) is refused as well."""

    async def work() -> None:
        loop = asyncio.get_running_loop()
        port = await Port.take(host, 0)
        try:
            for is_open in (False, True, False, True, False):
                if is_open:
                    await port.open(Closes)
                    await port.open(Closes)
                else:
                    await port.refuse()
                for address in addresses:
                    assert await loop.run_in_executor(None, connects, address, port.number) == is_open
                    for reuse in (False, True):
                        with pytest.raises(OSError, match="in use"):
                            bound(address, port.number, reuse)
        finally:
            port.close()
        for address in addresses:
            bound(address, port.number, reuse=True).close()
        await loop.shutdown_default_executor()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(within(work()))


def test_connections_that_are_open_outlive_a_port_that_refuses() -> None:
    async def work() -> None:
        port = await Port.take("127.0.0.1", 0)
        served: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def new_protocol() -> asyncio.StreamReaderProtocol:
            return asyncio.StreamReaderProtocol(
                asyncio.StreamReader(loop=loop), lambda _, writer: served.put_nowait(writer)
            )

        for _ in range(3):
            await port.open(new_protocol)
            reader, writer = await asyncio.open_connection("127.0.0.1", port.number)
            there = await served.get()
            await port.refuse()
            there.write(b"still here")
            assert await reader.readexactly(10) == b"still here"
            there.close()
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()
        port.close()

    run(work())


class Scripted:
    """A host that says of the n-th address whether its port is taken; the first address has a free one each time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *taken: bool) -> None:
        self._taken = list(taken)
        self.tried: list[int] = []
        self._bound = one_port._bound
        monkeypatch.setattr(one_port, "_bound", self)

    def __call__(self, info: Any, port: int, shares: bool = False) -> socket.socket:
        if info[4][0] == "127.0.0.1":
            return self._bound(info, port, shares)
        self.tried.append(port)
        if self._taken.pop(0):
            raise OSError(errno.EADDRINUSE, "taken")
        return self._bound(info, port, shares)


def taken_on_two() -> Port:
    """Return one port of 127.0.0.1 and 127.0.0.2."""

    async def work() -> Port:
        port = await Port.take("two", 0)
        port.close()
        return port

    return run(work())


@pytest.fixture
def two_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def addresses(host: str | None, port: int) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, port)) for address in ("127.0.0.1", "127.0.0.2")]

    monkeypatch.setattr(one_port, "_addresses", addresses)


@pytest.mark.usefixtures("two_addresses")
@pytest.mark.skipif(sys.platform != "linux", reason="the system has one loopback address of IPv4")
def test_a_port_that_is_taken_on_another_address_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted(monkeypatch, True, True, False)
    port = taken_on_two()
    assert len(scripted.tried) == 3
    assert port.number == scripted.tried[-1]


@pytest.mark.usefixtures("two_addresses")
def test_it_gives_up_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    Scripted(monkeypatch, *[True] * 20)
    with pytest.raises(OSError, match="no port is free on all addresses of the host"):
        taken_on_two()


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
