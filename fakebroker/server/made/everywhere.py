"""The advertised address if the user names only where brokers listen.

Theory   Brokers may listen on all addresses of both families. `localhost` is right for their clients only if that name
         has an address of each family that the machine has. Where it lacks one, a client that uses that family alone
         could reach no broker by the name. It is sent the address that it connected to.
Source   metadata/.../ListenerInfo.java withWildcardHostnamesResolved, core/.../KafkaConfig.scala @ 4.0.
Differs  Kafka advertises the canonical host name for `listeners=PLAINTEXT://:9092`, and `::` for
         `PLAINTEXT://[::]:9092`.
"""

from __future__ import annotations

import socket
from typing import Final, NamedTuple

from fakebroker.server.running.one_port import bound_host

_LOCALHOST: Final = "localhost"
_ALL_OF_IPV4: Final = "0.0.0.0"
_LOOPBACKS: Final = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}


class AdvertisedAddress(NamedTuple):
    """The advertised address. `host` is for clients that have not connected. `is_dialled`: each connected client is
    sent the address that it used."""

    host: str
    is_dialled: bool


def told_of(host: str) -> AdvertisedAddress:
    """Return the address that clients can reach if brokers listen on this host."""
    if bound_host(host) is None:
        return _told_of_everywhere()
    return AdvertisedAddress(_LOOPBACKS[socket.AF_INET] if host == _ALL_OF_IPV4 else host, False)


def _told_of_everywhere() -> AdvertisedAddress:
    families = [family for family in _LOOPBACKS if _is_usable(family)]
    named = _families_of_localhost()
    if named == set(families):
        return AdvertisedAddress(_LOCALHOST, False)
    if len(families) == 1:
        return AdvertisedAddress(_LOOPBACKS[families[0]], False)
    return AdvertisedAddress(_LOCALHOST if named else _LOOPBACKS[socket.AF_INET], True)


def _is_usable(family: socket.AddressFamily) -> bool:
    try:
        socket.create_server((_LOOPBACKS[family], 0), family=family).close()
    except OSError:
        return False
    return True


def _families_of_localhost() -> set[int]:
    try:
        return {info[0] for info in socket.getaddrinfo(_LOCALHOST, None, type=socket.SOCK_STREAM)}
    except socket.gaierror:
        return set()
