"""The settings `listeners` and `advertised.listeners`: where brokers listen, and the addresses for clients.

Source   server/.../network/EndPoint.java; core/.../utils/CoreUtils.scala listenerListToEndPoints;
         server/.../network/SocketServerConfigs.java @ 4.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from fakebroker.core.errors import ConfigError

_ENDPOINT = re.compile(r"(?P<name>.*)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>-?[0-9]+)")
_MOST = 65_535
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


class Endpoint(NamedTuple):
    """One listener. An empty host means every address."""

    name: str
    host: str
    port: int


def parse_endpoint(text: str) -> Endpoint:
    """Read "NAME://host:port". Raise ConfigError, also for a number that is no port."""
    [endpoint] = parse_endpoints([text])
    if not 0 <= endpoint.port <= _MOST:
        raise wrong_endpoints([text], f"{endpoint.port} is no port")
    return endpoint


def parse_endpoints(texts: Sequence[str]) -> list[Endpoint]:
    """Read a list of them, with any number as a port. Raise ConfigError."""
    endpoints = []
    for text in texts:
        match = _ENDPOINT.fullmatch(text)
        if match is None:
            raise wrong_endpoints(texts, f"Unable to parse {text} to a broker endpoint")
        endpoints.append(Endpoint(match["name"].upper(), match["host"], int(match["port"])))
    return endpoints


def wrong_endpoints(texts: Sequence[str], reason: str) -> ConfigError:
    """Return the error for a list of endpoints."""
    return ConfigError(f"Error creating broker listeners from '{java_list(texts)}': {reason}")


def java_list(texts: Iterable[str]) -> str:
    return f"[{', '.join(texts)}]"


def endpoint_text(endpoint: Endpoint) -> str:
    listener, host, port = endpoint
    return f"{listener}://[{host}]:{port}" if ":" in host else f"{listener}://{host}:{port}"


def parse_protocols(text: str) -> dict[str, str]:
    """Read `listener.security.protocol.map`: the security protocols by name of listener. Raise ConfigError."""
    protocols = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = item.partition(":")
        if not colon:
            raise ConfigError(f"Error parsing listener.security.protocol.map: {item!r} is not NAME:PROTOCOL")
        protocols[name.strip().upper()] = protocol.strip().upper()
    return protocols
