"""Broker ids and addresses from settings: the `listeners` and `node.id` of a `server.properties`. Arguments of a
cluster take precedence.

Theory   A `server.properties` describes one broker; here it describes all. One listener is opened, without TLS and
         SASL: the first in plain text that is not a controller's. Without one, the first of any protocol gives the
         address. The n-th broker listens on its port + n - 1.
Source   core/.../server/KafkaConfig.scala validateValues, effectiveAdvertisedBrokerListeners @ 4.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.listener_endpoints import Endpoint, parse_endpoint, parse_protocols
from fakebroker.core.errors import ConfigError

_PLAINTEXT: Final = "PLAINTEXT"
_NO_ID: Final = -1
_EVERYWHERE: Final = "0.0.0.0"


@dataclass(frozen=True)
class Address:
    """The addresses in the settings, each None if not set. `notes` are sentences about settings that have no effect."""

    host: str | None = None
    port: int | None = None
    advertised_host: str | None = None
    advertised_port: int | None = None
    notes: tuple[str, ...] = ()


def node_id(config: BrokerConfig) -> int | None:
    """Return the broker id in the settings, or None. Raises ConfigError if there are two ids, or if the node is no
    broker."""
    roles = config.process_roles
    if roles is not None and "broker" not in roles:
        raise ConfigError(f"process.roles={','.join(roles)}: without a broker there is nothing to serve")
    old, new = config.broker_id, config.node_id
    if new is not None and old not in (_NO_ID, new):
        raise ConfigError(f"You must set `node.id` to the same value as `broker.id`: {new} and {old}")
    return new if new is not None else old if old != _NO_ID else None


def address_of(config: BrokerConfig) -> Address:
    """Return the addresses in the settings; an empty Address if they name no listener. Raises ConfigError."""
    if "listeners" not in config.given and "advertised_listeners" not in config.given:
        return Address()
    listeners = [parse_endpoint(text) for text in config.listeners]
    controllers = {name.upper() for name in config.controller_listener_names or ()}
    brokers = [each for each in listeners if each.name not in controllers]
    if not brokers:
        raise ConfigError("all listeners are the controllers': there is nothing to serve")
    protocols = parse_protocols(config.listener_security_protocol_map)
    for each in brokers:
        if each.name not in protocols:
            raise ConfigError(f"No security protocol defined for listener {each.name}")
    opened = next((each for each in brokers if protocols[each.name] == _PLAINTEXT), brokers[0])
    told = _advertised(config, opened)
    is_given = "listeners" in config.given
    return Address(
        host=opened.host if is_given else None,
        port=opened.port if is_given else None,
        advertised_host=None if told is None else told.host,
        advertised_port=None if told is None else told.port,
        notes=tuple(_notes(brokers, opened, protocols[opened.name])),
    )


def _advertised(config: BrokerConfig, opened: Endpoint) -> Endpoint | None:
    """Return the advertised address of the opened listener, or else of any other listener."""
    told = [parse_endpoint(text) for text in config.advertised_listeners or ()]
    controllers = {name.upper() for name in config.controller_listener_names or ()}
    told = [each for each in told if each.name not in controllers]
    for each in told:
        if each.host == _EVERYWHERE:
            raise ConfigError(
                f"advertised.listeners cannot use the nonroutable meta-address {_EVERYWHERE}. "
                "Use a routable IP address."
            )
    of_it = next((each for each in told if each.name == opened.name), None)
    return of_it or next(iter(told), None)


def _notes(brokers: Sequence[Endpoint], opened: Endpoint, protocol: str) -> list[str]:
    notes = []
    if protocol != _PLAINTEXT:
        notes.append(f"listener {opened.name} is opened in plain text: there is no {protocol} here")
    others = [each.name for each in brokers if each is not opened]
    if others:
        notes.append(f"one listener is opened, {opened.name}; not {', '.join(others)}")
    return notes
