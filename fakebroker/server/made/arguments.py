"""The arguments of a cluster, from Python programs and the command line, read and checked once.

Raises KafkaError for a bad setting, ValueError or TypeError for a bad argument, in a sentence that says what is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Self

from fakebroker.cluster.members import features_of, racks_of
from fakebroker.core.arguments import (
    MAPPING_OR_NONE,
    STRING,
    STRING_OR_NONE,
    WHOLE_NUMBER,
    WHOLE_NUMBER_OR_NONE,
    require,
)
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.broker_configs.ours import KAFKA_DEFAULTS, TEST_DEFAULTS
from fakebroker.core.config.broker_configs.security import STANDARD_AUTHORIZER
from fakebroker.core.config.listener_names import of_listener
from fakebroker.core.errors import ConfigError
from fakebroker.core.replication.behaviour import Behaviour
from fakebroker.core.schedule import order_of
from fakebroker.core.security.acl_binding import AclBinding
from fakebroker.core.security.identity import PLAINTEXT, SASL_PLAINTEXT, Listener
from fakebroker.core.security.ssl_principal_mapper import parse_rules
from fakebroker.server.clocks import check_name
from fakebroker.server.made.addresses import check_between_brokers, listeners_of, node_id, refuse_everywhere
from fakebroker.server.made.everywhere import told_of
from fakebroker.server.made.listener_texts import FORM, ListenerText, parse_listeners
from fakebroker.server.made.spec import ClusterSpec, OptionError
from fakebroker.server.running.one_port import without_brackets
from fakebroker.server.security.acls_in_hand import read_acls
from fakebroker.server.security.users_in_hand import Secrets, read_users
from fakebroker.server.settings import texts

DIALLED = "dialled"
"""The advertised host that stands for "the address that the client itself connected to"."""

_MOST_BROKERS = 100
_LARGEST_ID = 2**31 - 1
_DEFAULTS: Mapping[str, Mapping[str, int]] = {
    "fakebroker": {},
    "kafka": KAFKA_DEFAULTS,
    "test": TEST_DEFAULTS,
}
_LOCALHOST = "127.0.0.1"
_USUAL_BROKERS = 3


@dataclass(frozen=True)
class ListenerAddresses:
    """The addresses where brokers listen, and those that clients are sent. The n-th broker has the n-th port from
    `port` on, or a free one if `port` is 0. `is_dialled`: a connected client is sent the address that it used; the
    advertised host is for all others. `listener` is what clients find there."""

    host: str
    port: int
    advertised_host: str
    advertised_port: int
    is_dialled: bool = False
    listener: Listener = PLAINTEXT

    @property
    def is_known(self) -> bool:
        """Return True if clients may know the address from an earlier cluster."""
        return self.port != 0 or self.advertised_port != 0

    def port_of(self, index: int) -> int:
        return self.port + index if self.port else 0

    def advertised_port_of(self, index: int, port: int) -> int:
        """Return the advertised port of the broker that listens on `port`."""
        return self.advertised_port + index if self.advertised_port else port


@dataclass(frozen=True)
class Arguments:
    """The checked arguments of a cluster. It has a place for each of its listeners, the first for clients that do not
    choose."""

    broker_ids: tuple[int, ...]
    racks: Mapping[int, str]
    features: Mapping[str, int]
    places: tuple[ListenerAddresses, ...]
    config: BrokerConfig
    behaviour: Behaviour
    seed: int
    schedule: str
    users: Mapping[str, Secrets] = field(default_factory=dict)
    acls: Sequence[AclBinding] = ()

    def listener(self, name: str) -> Listener:
        """Return a listener by its name, or else by its protocol, in any case. Raises ValueError."""
        listeners = [place.listener for place in self.places]
        wanted = name.upper() if isinstance(name, str) else name
        matching = [listener for listener in listeners if listener.name == wanted]
        matching = matching or [listener for listener in listeners if listener.security_protocol == wanted]
        if len(matching) != 1:
            named = ", ".join(f"{listener.name} ({listener.security_protocol})" for listener in listeners)
            raise ValueError(f"{'no' if not matching else 'not one'} listener {name!r}: there are {named}")
        return matching[0]

    @property
    def lost(self) -> list[str]:
        """Return the names of settings of listeners that there are not, sorted."""
        names = {place.listener.name.lower() for place in self.places}
        parts = {name: of_listener(name) for name in self.config.listener_texts}
        return sorted(name for name, part in parts.items() if part is not None and part.listener not in names)

    @classmethod
    def read(cls, spec: ClusterSpec) -> Self:
        require(WHOLE_NUMBER_OR_NONE, brokers=spec.brokers, port=spec.port, advertised_port=spec.advertised_port)
        require(WHOLE_NUMBER, seed=spec.seed)
        require(STRING, defaults=spec.defaults)
        require(STRING_OR_NONE, host=spec.host, advertised_host=spec.advertised_host)
        if spec.defaults not in _DEFAULTS:
            raise ValueError(f"defaults are {', '.join(_DEFAULTS)}, not {spec.defaults!r}")
        settings = BrokerConfig()
        if _DEFAULTS[spec.defaults]:
            settings = settings.with_defaults(_DEFAULTS[spec.defaults])
        settings = settings.with_text(_implied(spec) | texts(spec.config))
        _check_mapping_rules(settings)
        ids = _ids(spec, node_id(settings))
        arguments = cls(
            broker_ids=ids,
            racks=_racks(ids, spec.racks, settings),
            features=_features(spec.features),
            places=_places(len(ids), settings, spec),
            config=settings,
            behaviour=Behaviour.parse(spec.followers),
            seed=spec.seed,
            schedule=spec.schedule,
            users={} if spec.users is None else read_users(spec.users),
            acls=() if spec.acls is None else read_acls(spec.acls),
        )
        if spec.acls is not None and not settings.authorizer_class_name:
            raise OptionError("{} needs an authorizer: leave out authorizer.class.name", "acls")
        if spec.users is not None and not any(place.listener.has_sasl for place in arguments.places):
            raise OptionError(
                "a listener with SASL is missing, which {} needs: add SASL_PLAINTEXT to {}", "users", "listeners"
            )
        check_name(spec.clock)
        order_of(spec.schedule, spec.seed)
        return arguments


def _check_mapping_rules(config: BrokerConfig) -> None:
    """Raise ConfigError, with the setting, for rules that cannot be read."""
    name = "ssl.principal.mapping.rules"
    of_listeners = {setting: text for setting, text in config.listener_texts.items() if setting.endswith(f".{name}")}
    for setting, rules in {name: config.ssl_principal_mapping_rules, **of_listeners}.items():
        try:
            parse_rules(rules)
        except ConfigError as error:
            raise ConfigError(f"{setting}: {error}") from None


def _places(brokers: int, config: BrokerConfig, spec: ClusterSpec) -> tuple[ListenerAddresses, ...]:
    """Return the places from the arguments, else from the settings, else one with free ports."""
    if spec.listeners is not None:
        _refuse_beside_listeners(spec)
        places = [_place(text, spec.host, "") for text in parse_listeners(spec.listeners)]
        check_between_brokers(config, [place.listener.name for place in places])
    else:
        listeners = listeners_of(config)
        if len(listeners) > 1 and (spec.port is not None or spec.advertised_port is not None):
            name = "port" if spec.port is not None else "advertised_port"
            names = ", ".join(text.listener.name for text in listeners)
            raise OptionError(f"the settings have the listeners {names}: leave out {{}}", name)
        usual = PLAINTEXT if spec.users is None else Listener(SASL_PLAINTEXT, SASL_PLAINTEXT)
        places = [_changed(text, spec) for text in listeners or (ListenerText(usual),)]
    _check_room(brokers, places, spec)
    return tuple(places)


def _implied(spec: ClusterSpec) -> dict[str, str]:
    """Return the settings that follow from other arguments: the protocols of the listeners, the authorizer of ACLs."""
    implied = {} if spec.acls is None else {"authorizer.class.name": STANDARD_AUTHORIZER}
    if spec.listeners is not None:
        pairs = [text.listener for text in parse_listeners(spec.listeners)]
        names = ",".join(f"{name}:{protocol}" for name, protocol, _ in pairs)
        implied["listener.security.protocol.map"] = names
    return implied


def _refuse_beside_listeners(spec: ClusterSpec) -> None:
    for name in ("port", "advertised_host", "advertised_port"):
        if getattr(spec, name) is not None:
            raise OptionError(f"leave out {{}}: each of {{}} has its own, as in {FORM}", name, "listeners")


def _changed(text: ListenerText, spec: ClusterSpec) -> ListenerAddresses:
    """Return the place of a listener of the settings, changed by the arguments. One that sets where to listen also sets
    the advertised address, unless that has an argument of its own."""
    is_moved = spec.host is not None or spec.port is not None or spec.advertised_host == DIALLED
    if is_moved:
        text = replace(text, advertised_host="", advertised_port=0)
    if spec.host is not None:
        text = replace(text, host=spec.host)
    if spec.port is not None:
        text = replace(text, port=spec.port)
    if spec.advertised_port is not None:
        text = replace(text, advertised_port=spec.advertised_port)
    return _place(text, None, spec.advertised_host or "")


def _place(text: ListenerText, host: str | None, advertised_host: str) -> ListenerAddresses:
    """Return the place of a listener; `host` and `advertised_host` are those of the cluster, if any."""
    advertised_host = advertised_host or text.advertised_host
    is_dialled = advertised_host == DIALLED
    refuse_everywhere(advertised_host)
    host = without_brackets(next(candidate for candidate in (text.host, host, _LOCALHOST) if candidate is not None))
    advertised_host = "" if is_dialled else without_brackets(advertised_host)
    if not advertised_host:
        advertised_host, is_told_dialled = told_of(host)
        is_dialled = is_dialled or is_told_dialled
    return ListenerAddresses(host, text.port, advertised_host, text.advertised_port, is_dialled, text.listener)


def _check_room(brokers: int, places: Sequence[ListenerAddresses], spec: ClusterSpec) -> None:
    """Refuse ports that leave no room for all brokers, and listeners that would share one."""
    most = 65_536 - brokers
    for place in places:
        for name, setting, first in (
            ("port", "listeners", place.port),
            ("advertised_port", "advertised.listeners", place.advertised_port),
        ):
            if not 0 <= first <= most:
                where = f"{{}} {first}" if getattr(spec, name) == first else f"the port {first} of {setting}"
                raise OptionError(f"{where} leaves no room for {brokers} brokers: use 0, or 1 to {most}", name)
    fixed = sorted((place for place in places if place.port), key=lambda place: place.port)
    for one, other in pairwise(fixed):
        if other.port < one.port + brokers:
            names, after = f"{one.listener.name} and {other.listener.name}", one.port + brokers
            raise OptionError(
                f"the listeners {names} share ports: {brokers} brokers have those from {one.port} to {after - 1}, "
                f"and from {other.port} on; use 0, or {after}"
            )


def _ids(spec: ClusterSpec, node_id: int | None) -> tuple[int, ...]:
    brokers, broker_ids = spec.brokers, spec.broker_ids
    if broker_ids is None:
        if brokers is None and node_id is not None:
            return (node_id,)
        brokers = _USUAL_BROKERS if brokers is None else brokers
        if not 1 <= brokers <= _MOST_BROKERS:
            raise ValueError(f"a cluster has 1 to {_MOST_BROKERS} brokers, not {brokers}")
        return tuple(range(1, brokers + 1))
    _require_ids("broker_ids", broker_ids)
    if not 1 <= len(broker_ids) <= _MOST_BROKERS:
        raise ValueError(f"a cluster has 1 to {_MOST_BROKERS} brokers, not {len(broker_ids)}")
    for broker_id in broker_ids:
        if not 0 <= broker_id <= _LARGEST_ID:
            raise ValueError(f"a broker has an id from 0 to {_LARGEST_ID}, not {broker_id}")
    if len(set(broker_ids)) != len(broker_ids):
        raise ValueError(f"each broker needs a different id, not {', '.join(map(str, broker_ids))}")
    number = len(broker_ids)
    if brokers not in (None, number):
        sentence = f"{{}} is {brokers}, but {{}} names {number} broker{'s' * (number > 1)}: leave out one of both"
        raise OptionError(sentence, "brokers", "broker_ids")
    return tuple(broker_ids)


def _racks(broker_ids: Sequence[int], racks: Mapping[int, str] | None, config: BrokerConfig) -> Mapping[int, str]:
    require(MAPPING_OR_NONE, racks=racks)
    for broker_id, rack in (racks or {}).items():
        require(WHOLE_NUMBER, **{"a broker of racks": broker_id})
        require(STRING, **{f"the rack of broker {broker_id}": rack})
    racks_of(broker_ids, config, racks or {})
    return dict(racks or {})


def _features(levels: Mapping[str, int] | None) -> Mapping[str, int]:
    require(MAPPING_OR_NONE, features=levels)
    for name, level in (levels or {}).items():
        require(STRING, **{"the name of a feature": name})
        require(WHOLE_NUMBER, **{f"the level of {name}": level})
    return features_of(levels or {})


def read_assignments(assignments: Sequence[Sequence[int]] | None) -> list[tuple[int, tuple[int, ...]]]:
    """Return the number and the replicas of each partition. The caller checks that these brokers exist."""
    if assignments is None:
        return []
    if _is_list(assignments) and assignments and all(map(_is_list, assignments)):
        for replicas in assignments:
            _require_ids("assignments", replicas)
        return [(index, tuple(replicas)) for index, replicas in enumerate(assignments)]
    raise TypeError(
        f"assignments must be a list of broker ids for each partition, as in [[3, 1], [1, 2]], not {assignments!r}"
    )


def _require_ids(name: str, broker_ids: Any) -> None:
    if not _is_list(broker_ids):
        raise TypeError(f"{name} must be a list of whole numbers, not {broker_ids!r}")
    for broker_id in broker_ids:
        require(WHOLE_NUMBER, **{f"each of {name}": broker_id})


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
