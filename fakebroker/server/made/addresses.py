"""Broker ids and addresses from settings: the `listeners` and `node.id` of a `server.properties`. Arguments of a
cluster take precedence.

Theory   A `server.properties` describes one broker; here it describes all. Each listener that is not a controller's is
         opened. The n-th broker listens on its port + n - 1.
Source   core/.../server/KafkaConfig.scala validateValues, effectiveAdvertisedBrokerListeners @ 4.0.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Final

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.listener_endpoints import PROTOCOLS, Endpoint, parse_endpoint, parse_protocols
from fakebroker.core.errors import ConfigError
from fakebroker.core.security.identity import Listener
from fakebroker.server.made.listener_texts import ListenerText

_NO_ID: Final = -1
_EVERYWHERE: Final = "0.0.0.0"
_UNTOLD: Final = Endpoint("", "", 0)


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


def listeners_of(config: BrokerConfig) -> tuple[ListenerText, ...]:
    """Return the listeners in the settings; none if they name none. A listener that is only advertised has no host.
    Raises ConfigError."""
    if "listeners" not in config.given and "advertised_listeners" not in config.given:
        return ()
    controllers = {name.upper() for name in config.controller_listener_names or ()}
    brokers = [endpoint for endpoint in map(parse_endpoint, config.listeners) if endpoint.name not in controllers]
    if not brokers:
        raise ConfigError("all listeners are the controllers': there is nothing to serve")
    protocols = parse_protocols(config.listener_security_protocol_map)
    advertised = _advertised(config, controllers)
    is_given = "listeners" in config.given
    listeners = []
    for endpoint in brokers:
        protocol = protocols.get(endpoint.name)
        if protocol is None:
            raise ConfigError(f"No security protocol defined for listener {endpoint.name}")
        if protocol not in PROTOCOLS:
            raise ConfigError(f"listener.security.protocol.map: {protocol} is no security protocol of Kafka")
        address = advertised.get(endpoint.name, _UNTOLD)
        host, port = (endpoint.host, endpoint.port) if is_given else (None, 0)
        listeners.append(ListenerText(Listener(endpoint.name, protocol), host, port, address.host, address.port))
    names = [endpoint.name for endpoint in brokers]
    if unknown := [name for name in advertised if name not in names]:
        raise ConfigError(
            "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners: "
            f"{', '.join(unknown)} is none of {', '.join(names)}"
        )
    check_between_brokers(config, list(advertised) or names)
    return tuple(listeners)


def _advertised(config: BrokerConfig, controllers: Container[str]) -> dict[str, Endpoint]:
    """Return the advertised addresses of the brokers' listeners, by name."""
    endpoints = [parse_endpoint(text) for text in config.advertised_listeners or ()]
    endpoints = [endpoint for endpoint in endpoints if endpoint.name not in controllers]
    for endpoint in endpoints:
        refuse_everywhere(endpoint.host)
    return {endpoint.name: endpoint for endpoint in endpoints}


def refuse_everywhere(host: str) -> None:
    """Raise ConfigError for an advertised host that no client can reach."""
    if host == _EVERYWHERE:
        raise ConfigError(
            f"advertised.listeners cannot use the nonroutable meta-address {_EVERYWHERE}. Use a routable IP address."
        )


def check_between_brokers(config: BrokerConfig, names: Sequence[str]) -> None:
    """Raise ConfigError if the listener between brokers is none of these, which clients can reach."""
    name = config.inter_broker_listener_name
    if name is not None and name.upper() not in names:
        raise ConfigError(
            f"inter.broker.listener.name must be a listener name defined in advertised.listeners: {name} is none of "
            f"{', '.join(names)}"
        )
