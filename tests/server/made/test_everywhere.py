"""Addresses in responses of brokers that listen on all addresses of both families (server/made/everywhere.py)."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import pytest
from support.messages import decode_response
from support.ports import can_listen
from support.raw_client import RawClient
from support.requests import METADATA, metadata

from fakebroker import FakeCluster
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server.made.everywhere import AdvertisedAddress, told_of

V4, V6 = socket.AF_INET, socket.AF_INET6
LOOPBACKS = {V4: "127.0.0.1", V6: "::1"}


class Machine:
    """A machine with the loopback addresses `usable`; its localhost has addresses of the families `named`."""

    def __init__(self, usable: Sequence[int], named: Sequence[int]) -> None:
        self.usable = usable
        self.named = named
        self.getaddrinfo = socket.getaddrinfo

    def install(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(socket, "getaddrinfo", self.look_up)
        patch.setattr(socket, "create_server", self.bind)

    def look_up(self, host: Any, port: Any, *arguments: Any, **named: Any) -> list[Any]:
        if host != "localhost":
            return self.getaddrinfo(host, port, *arguments, **named)
        if not self.named:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(family, socket.SOCK_STREAM, 6, "", (LOOPBACKS[V4], port)) for family in self.named]

    def bind(self, address: tuple[str, int], *, family: int) -> socket.socket:
        assert address == (LOOPBACKS[V4 if family == V4 else V6], 0)
        if family not in self.usable:
            raise OSError("Cannot assign requested address")
        return socket.socket()


@pytest.mark.parametrize(
    ("usable", "named", "told"),
    [
        ([V4, V6], [V6, V4], AdvertisedAddress("localhost", False)),
        ([V4, V6], [V4], AdvertisedAddress("localhost", True)),
        ([V4, V6], [V6], AdvertisedAddress("localhost", True)),
        ([V4, V6], [], AdvertisedAddress("127.0.0.1", True)),
        ([V4], [V4], AdvertisedAddress("localhost", False)),
        ([V4], [V6, V4], AdvertisedAddress("127.0.0.1", False)),
        ([V4], [V6], AdvertisedAddress("127.0.0.1", False)),
        ([V6], [V4], AdvertisedAddress("::1", False)),
        ([V6], [V6], AdvertisedAddress("localhost", False)),
        ([V6], [], AdvertisedAddress("::1", False)),
    ],
)
def test_localhost_is_told_where_it_has_each_family_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, usable: list[int], named: list[int], told: AdvertisedAddress
) -> None:
    Machine(usable, named).install(monkeypatch)
    assert told_of("::") == told


@pytest.mark.parametrize("host", ["", "::", "[::]"])
@pytest.mark.parametrize(("named", "is_dialled"), [([V4], True), ([V6], True), ([V6, V4], False)])
def test_each_way_to_say_everywhere(
    monkeypatch: pytest.MonkeyPatch, host: str, named: list[int], is_dialled: bool
) -> None:
    Machine([V4, V6], named).install(monkeypatch)
    assert place_of(host=host) == ("localhost", is_dialled)
    assert place_of(config={"listeners": f"PLAINTEXT://{host}:9092"}) == ("localhost", is_dialled)
    assert place_of(host=host, advertised_host="kafka.test") == ("kafka.test", False)
    assert place_of(host=host, advertised_host="dialled") == ("localhost", True)


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1", "::1", "localhost"])
def test_other_hosts_are_not_looked_up(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    Machine([], []).install(monkeypatch)
    assert place_of(host=host) == ("127.0.0.1" if host == "0.0.0.0" else host, False)


@pytest.mark.skipif(not can_listen("::1"), reason="this system has no IPv6")
@pytest.mark.parametrize("named", [[V4], [V6]])
def test_clients_of_both_families_are_told_what_they_reach(monkeypatch: pytest.MonkeyPatch, named: list[int]) -> None:
    Machine([V4, V6], named).install(monkeypatch)
    with FakeCluster(brokers=2, host="::") as kafka:
        port = kafka.endpoints[1].port
        for address in LOOPBACKS.values():
            with RawClient(NodeEndpoint(2, address, port)) as client:
                _, answer = decode_response(METADATA, 12, client.ask(metadata([])))
            assert {broker.host for broker in answer.brokers} == {address}


def place_of(**arguments: Any) -> tuple[str, bool]:
    place = FakeCluster(brokers=1, **arguments)._cluster.server.arguments.places[0]
    return place.advertised_host, place.is_dialled
