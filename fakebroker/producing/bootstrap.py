"""The addresses of `bootstrap.servers`.

Errors   ProducerConfigError.
Source   clients/.../clients/ClientUtils.parseAndValidateAddresses of 4.3.
Differs  The loop resolves names when a connection is made; an unknown name then counts as an unreachable broker.
"""

from __future__ import annotations

from collections.abc import Iterable

from fakebroker.producer.errors import ProducerConfigError

_MOST = 2**16 - 1


def parse_bootstrap(servers: object) -> list[tuple[str, int]]:
    """Return host and port of each address, from "host:port,[::1]:port" or from several such texts."""
    texts = [servers] if isinstance(servers, str) else list(servers) if isinstance(servers, Iterable) else []
    addresses = [_parse(one.strip()) for text in texts for one in str(text).split(",") if one.strip()]
    if not addresses:
        raise ProducerConfigError("bootstrap.servers must name a broker, as host:port.")
    return addresses


def _parse(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > _MOST:
        raise ProducerConfigError(f"bootstrap.servers has {text}, which is not host:port.")
    return host, int(port)
