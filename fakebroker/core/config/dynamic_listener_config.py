"""The listeners of running brokers: what a change of `listeners` is checked for, and which ones it adds and removes.

Theory   A broker's advertised listeners are those of its start, and stay. A change adds others beside them, and removes
         what was added. Clients of an added listener are told no broker, because brokers do not register again. A known
         name with another address changes nothing: its port stays, until the listener is removed.
Source   core/.../server/DynamicBrokerConfig.scala DynamicListenerConfig; core/.../server/KafkaConfig.scala
         validateValues; server/.../network/SocketServerConfigs.java listenerListToEndPoints @ 4.4 (read out of the
         released jars).
Differs  After a change of its address, a removed listener is closed at the port where it listens. Kafka looks for the
         new address, and leaves the old port open: it accepts connections and serves none.
         Brokers have no listener of a controller, so one in the value is checked only, and needs no protocol.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from ipaddress import ip_address
from typing import Final, NamedTuple

from fakebroker.core.broker_registry import AddedListener, BrokerRegistry
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig, invalid_dynamic, is_dynamic
from fakebroker.core.config.listener_endpoints import (
    PROTOCOLS,
    Endpoint,
    endpoint_text,
    java_list,
    parse_endpoints,
    parse_protocols,
    wrong_endpoints,
)
from fakebroker.core.config.listener_names import prefixes_of
from fakebroker.core.errors import ConfigError
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

LISTENERS: Final = "listeners"
_MAP: Final = "listener.security.protocol.map"


class ListenerChange(NamedTuple):
    """A change of the listeners of a broker; `removed` are the names of those that it has no more."""

    broker_id: int
    removed: Sequence[str]


class DynamicListenerConfig:
    """The listeners that the settings of brokers add."""

    def __init__(self, configs: DynamicBrokerConfig, registry: BrokerRegistry) -> None:
        self._configs = configs
        self._registry = registry
        configs.add_validator(self.validate)

    def validate(self, broker_id: int, texts: Mapping[str, str], new: BrokerConfig) -> None:
        """Raise KafkaError if a broker cannot have these settings, of which its own are `texts`."""
        own = self._configs.texts(broker_id)
        if all(texts.get(name) == own.get(name) for name in (LISTENERS, _MAP)):
            return
        protocols, controllers = parse_protocols(new.listener_security_protocol_map), _controllers(new)
        try:
            for protocol in protocols.values():
                if protocol not in PROTOCOLS:
                    raise ConfigError(f"Invalid security protocol `{protocol}` defined in {_MAP}")
            names = _checked(self._texts(broker_id, texts), protocols.keys() | controllers)
            if LISTENERS in texts:
                self._check_names(broker_id, names, new)
        except ConfigError as error:
            raise KafkaError(ErrorCode.invalid_request, error.message) from None
        before = parse_protocols(self._configs.of(broker_id).listener_security_protocol_map)
        for name in sorted({*self._names(broker_id)} & {*names}):
            if self._has_fixed_settings(name, texts):
                raise invalid_dynamic(
                    f"Configs cannot be updated dynamically for existing listener ListenerName({name}), restart broker "
                    "or create a new listener for update"
                )
            if protocols.get(name) != before.get(name):
                raise invalid_dynamic(f"Security protocol cannot be updated for existing listener ListenerName({name})")

    def reconfigure(self) -> list[ListenerChange]:
        """Apply the present settings. Return the changes."""
        changes = []
        for broker_id in self._registry.broker_ids:
            broker, wanted = self._registry[broker_id], self._wanted(broker_id)
            removed = [name for name in broker.added_listeners if name not in wanted]
            added = [listener for name, listener in wanted.items() if name not in broker.added_listeners]
            for name in removed:
                broker.remove_listener(name)
                self._configs.close_listener(broker_id, name)
            for listener in added:
                broker.add_listener(listener)
                self._configs.open_listener(broker_id, listener.listener.name)
            if removed or added:
                changes.append(ListenerChange(broker_id, removed))
        return changes

    def reopen(self, broker_id: int) -> None:
        """Note that a broker has started, and opens the listeners again that were added."""
        for name in self._registry[broker_id].added_listeners:
            self._configs.open_listener(broker_id, name)

    def _wanted(self, broker_id: int) -> dict[str, AddedListener]:
        """Return the listeners beside the advertised ones, by name."""
        text = self._configs.texts(broker_id).get(LISTENERS)
        if text is None:
            return {}
        config = self._configs.of(broker_id)
        others = {*self._advertised(broker_id), *_controllers(config)}
        protocols = parse_protocols(config.listener_security_protocol_map)
        return {
            name: AddedListener.of(name, protocols[name], host, port)
            for name, host, port in parse_endpoints(config.listeners)
            if name not in others
        }

    def _texts(self, broker_id: int, texts: Mapping[str, str]) -> Sequence[str]:
        """Return the endpoints that a broker has with these settings of its own."""
        if LISTENERS in texts:
            return [item.strip() for item in texts[LISTENERS].split(",")]
        broker = self._registry[broker_id]
        return [endpoint_text(Endpoint(listener.name, *broker.bound_to(listener))) for listener in broker.listeners]

    def _advertised(self, broker_id: int) -> list[str]:
        return [listener.name for listener in self._registry[broker_id].listeners]

    def _names(self, broker_id: int) -> list[str]:
        """Return the names of all listeners that a broker has."""
        return [*self._advertised(broker_id), *self._registry[broker_id].added_listeners]

    def _has_fixed_settings(self, name: str, texts: Mapping[str, str]) -> bool:
        """Return True if a listener was given settings since the start that only a new listener can have."""
        [prefix] = prefixes_of(name)
        return any(
            setting.startswith(prefix)
            and not is_dynamic(setting.removeprefix(prefix))
            and text != self._configs.of_start.listener_texts.get(setting)
            for setting, text in {**self._configs.texts(None), **texts}.items()
        )

    def _check_names(self, broker_id: int, names: Collection[str], new: BrokerConfig) -> None:
        controllers, roles = _controllers(new), new.process_roles or ()
        if "controller" in roles and not controllers & {*names}:
            raise ConfigError(
                "requirement failed: controller.listener.names must contain at least one value appearing in the "
                "'listeners' configuration when running the KRaft controller role"
            )
        if roles and "controller" not in roles and controllers & {*names}:
            raise ConfigError(
                "requirement failed: controller.listener.names must not contain a value appearing in the 'listeners' "
                "configuration when running KRaft with just the broker role"
            )
        advertised = self._advertised(broker_id)
        if not {*advertised} <= {*names}:
            raise ConfigError(
                "requirement failed: advertised.listeners listener names must be equal to or a subset of the ones "
                f"defined in listeners. Found {','.join(advertised)}. The valid options based on the current "
                f"configuration are {','.join(names)}"
            )


def _controllers(config: BrokerConfig) -> set[str]:
    return {name.upper() for name in config.controller_listener_names or ()}


def _checked(texts: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the names of the endpoints. Raise ConfigError for one without a protocol, and for two that share a name or
    a port."""
    if len({*texts}) != len(texts):
        raise ConfigError(f"Configuration '{LISTENERS}' values must not be duplicated.")
    endpoints = parse_endpoints(texts)
    for endpoint in endpoints:
        if endpoint.name not in known:
            raise wrong_endpoints(texts, f"No security protocol defined for listener {endpoint.name}")
    names = [endpoint.name for endpoint in endpoints]
    listed = java_list(texts)
    if len({*names}) != len(names):
        raise wrong_endpoints(texts, f"Each listener must have a different name, listeners: {listed}")
    hosts: defaultdict[int, list[str]] = defaultdict(list)
    for _, host, port in endpoints:
        hosts[port].append(host)
    for port, sharing in hosts.items():
        if port and len(sharing) > 1 and (wrong := _unshared(sharing)) is not None:
            raise wrong_endpoints(
                texts, f"{wrong}, listeners: {listed}" + (f", port: {port}" if " one" in wrong else "")
            )
    return names


def _unshared(hosts: Sequence[str]) -> str | None:
    """Return why listeners with these hosts cannot share a port; None if they can."""
    versions = sorted(map(_version, hosts))
    if versions.count(0) > 1:
        return "Each listener must have a different port"
    if len(versions) - versions.count(0) != 2:
        return (
            "Each listener must have a different port unless exactly one listener has an IPv4 address and the other "
            "IPv6 address"
        )
    if versions != [4, 6]:
        return "If you have two listeners on the same port then one needs to be IPv4 and the other IPv6"
    return None


def _version(host: str) -> int:
    """Return 4 or 6 for an address, 0 for a name."""
    try:
        return ip_address(host).version
    except ValueError:
        return 0
