"""`listeners` and `advertised.listeners`: where brokers listen, and what clients are told of it.

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
    """One listener; no host is every address."""

    name: str
    host: str
    port: int


def parse_endpoint(text: str) -> Endpoint:
    """Read "NAME://host:port"; raises ConfigError."""
    found = _ENDPOINT.fullmatch(text)
    if found is None:
        raise ConfigError(f"Error creating broker listeners from '{text}': Unable to parse {text} to a broker endpoint")
    port = int(found["port"])
    if not 0 <= port <= _MOST:
        raise ConfigError(f"Error creating broker listeners from '{text}': {port} is no port")
    return Endpoint(found["name"].upper(), found["host"], port)


def parse_protocols(text: str) -> dict[str, str]:
    """`listener.security.protocol.map`: by the name of a listener, its security protocol. Raises ConfigError."""
    protocols = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = item.partition(":")
        if not colon:
            raise ConfigError(f"Error parsing listener.security.protocol.map: {item!r} is not NAME:PROTOCOL")
        protocols[name.strip().upper()] = protocol.strip().upper()
    return protocols
