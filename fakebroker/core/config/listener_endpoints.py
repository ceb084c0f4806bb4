"""The settings `listeners` and `advertised.listeners`: where brokers listen, and the addresses for clients.

Source   server/.../network/EndPoint.java; core/.../utils/CoreUtils.scala listenerListToEndPoints;
         server/.../network/SocketServerConfigs.java @ 4.0.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from fakebroker.core.errors import ConfigError

_ENDPOINT = re.compile(r"(?P<name>.*)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>-?[0-9]+)")
_MOST = 65_535


class Endpoint(NamedTuple):
    """One listener. An empty host means every address."""

    name: str
    host: str
    port: int


def parse_endpoint(text: str) -> Endpoint:
    """Read "NAME://host:port". Raise ConfigError."""
    found = _ENDPOINT.fullmatch(text)
    if found is None:
        raise ConfigError(f"Error creating broker listeners from '{text}': Unable to parse {text} to a broker endpoint")
    port = int(found["port"])
    if not 0 <= port <= _MOST:
        raise ConfigError(f"Error creating broker listeners from '{text}': {port} is no port")
    return Endpoint(found["name"].upper(), found["host"], port)


def parse_protocols(text: str) -> dict[str, str]:
    """Read `listener.security.protocol.map`: the security protocols by name of listener. Raise ConfigError."""
    protocols = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = item.partition(":")
        if not colon:
            raise ConfigError(f"Error parsing listener.security.protocol.map: {item!r} is not NAME:PROTOCOL")
        protocols[name.strip().upper()] = protocol.strip().upper()
    return protocols
