"""The texts of `listeners`: NAME=PROTOCOL://HOST:PORT,advertised=HOST:PORT, or less.

Source   clients/.../security/auth/SecurityProtocol.java; core/.../server/KafkaConfig.scala validateValues @ 4.0.
Differs  Kafka has three settings for this: listeners, advertised.listeners and listener.security.protocol.map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from fakebroker.core.config.listener_endpoints import PROTOCOLS, parse_endpoint
from fakebroker.core.errors import ConfigError
from fakebroker.core.security.identity import Listener

FORM: Final = "NAME=PROTOCOL://HOST:PORT[,advertised=HOST:PORT]"

_ADVERTISED: Final = "advertised="
_HELP: Final = (
    f"a listener is {FORM}, or only a PROTOCOL ({', '.join(PROTOCOLS)}), as in "
    '"OUTSIDE=SASL_SSL://0.0.0.0:9093,advertised=kafka.test:19093"'
)


@dataclass(frozen=True)
class ListenerText:
    """A listener of each broker. The n-th broker has the n-th port from `port` on, or a free one if it is 0. Without a
    `host` it is that of the cluster. `advertised_port` is 0 for the port where the broker listens."""

    listener: Listener
    host: str | None = None
    port: int = 0
    advertised_host: str = ""
    advertised_port: int = 0


def parse_listener(text: str) -> ListenerText:
    """Read one listener. Raises ValueError with the form that is right."""
    what, comma, advertised = text.strip().partition(",")
    name, equals, where = what.partition("=")
    protocol, has_address, _ = (where if equals else name).partition("://")
    protocol = protocol.strip().upper()
    name = name.strip().upper() if equals else protocol
    if protocol not in PROTOCOLS or not name or (comma and not advertised.startswith(_ADVERTISED)):
        raise ValueError(f"{_HELP}, not {text!r}")
    listener = Listener(name, protocol)
    advertised_address = _address(f"{name}://{advertised.removeprefix(_ADVERTISED)}", text) if comma else ("", 0)
    if not has_address:
        return ListenerText(listener, None, 0, *advertised_address)
    host, port = _address(where if equals else what, text)
    return ListenerText(listener, host, port, *advertised_address)


def _address(endpoint: str, text: str) -> tuple[str, int]:
    try:
        _, host, port = parse_endpoint(endpoint)
    except ConfigError:
        raise ValueError(f"{_HELP}, not {text!r}") from None
    return host, port


def parse_listeners(texts: Any) -> tuple[ListenerText, ...]:
    """Read the listeners of an argument. Raises TypeError or ValueError."""
    if isinstance(texts, str):
        raise TypeError(f'listeners must be a list of texts, as in ["SASL_SSL"], not {texts!r}')
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"listeners must be a list of texts; {_HELP}, not {texts!r}")
    if not texts:
        raise ValueError(f"listeners must name a listener; {_HELP}")
    listeners = tuple(map(parse_listener, texts))
    names = [parsed.listener.name for parsed in listeners]
    if len(set(names)) != len(names):
        raise ValueError(f"each listener needs a different name, not {', '.join(names)}")
    return listeners
