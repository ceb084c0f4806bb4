"""The arguments of a cluster, from Python programs and the command line, read and checked once.

Raises KafkaError for a bad setting, ValueError or TypeError for a bad argument, in a sentence that says what is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from fakebroker.core.replication.behaviour import Behaviour
from fakebroker.core.schedule import order_of
from fakebroker.server.clocks import check_name
from fakebroker.server.made.addresses import Address, address_of, node_id
from fakebroker.server.made.everywhere import told_of
from fakebroker.server.made.spec import ClusterSpec, OptionError
from fakebroker.server.running.one_port import without_brackets
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
class Place:
    """The addresses where brokers listen, and those that clients are sent. The n-th broker has the n-th port from
    `port` on, or a free one if `port` is 0. `is_dialled`: a connected client is sent the address that it used; the
    advertised host is for all others."""

    host: str
    port: int
    advertised_host: str
    advertised_port: int
    is_dialled: bool = False

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
    """The checked arguments of a cluster. `notes` are sentences about arguments that have no effect."""

    broker_ids: tuple[int, ...]
    racks: Mapping[int, str]
    features: Mapping[str, int]
    place: Place
    config: BrokerConfig
    behaviour: Behaviour
    seed: int
    schedule: str
    notes: tuple[str, ...]

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
        settings = settings.with_text(texts(spec.config))
        ids, address = _ids(spec, node_id(settings)), address_of(settings)
        arguments = cls(
            broker_ids=ids,
            racks=_racks(ids, spec.racks, settings),
            features=_features(spec.features),
            place=_place(len(ids), address, spec),
            config=settings,
            behaviour=Behaviour.parse(spec.followers),
            seed=spec.seed,
            schedule=spec.schedule,
            notes=address.notes,
        )
        check_name(spec.clock)
        order_of(spec.schedule, spec.seed)
        return arguments


def _place(brokers: int, address: Address, spec: ClusterSpec) -> Place:
    """Return the place from the arguments, else from the settings, else free ports. An argument that sets where to
    listen also sets the advertised address, unless that has an argument of its own."""
    host, port, advertised_host = spec.host, spec.port, spec.advertised_host
    is_dialled = advertised_host == DIALLED
    if is_dialled:
        advertised_host = None
    told = address if host is None and port is None and not is_dialled else Address()
    host = without_brackets(next(each for each in (host, address.host, _LOCALHOST) if each is not None))
    port = port if port is not None else address.port or 0
    advertised_host = without_brackets(advertised_host or told.advertised_host or "")
    if not advertised_host:
        advertised_host, is_told_dialled = told_of(host)
        is_dialled = is_dialled or is_told_dialled
    advertised_port = spec.advertised_port if spec.advertised_port is not None else told.advertised_port or 0
    for name, setting, given, first in (
        ("port", "listeners", spec.port, port),
        ("advertised_port", "advertised.listeners", spec.advertised_port, advertised_port),
    ):
        most = 65_536 - brokers
        if not 0 <= first <= most:
            where = f"the port {first} of {setting}" if given is None else f"{{}} {first}"
            raise OptionError(f"{where} leaves no room for {brokers} brokers: use 0, or 1 to {most}", name)
    return Place(host, port, advertised_host, advertised_port, is_dialled)


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
