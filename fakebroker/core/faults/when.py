"""The selectors of a fault: requests, their parts, the point, and the time. A value.

Theory   An omitted selector matches everything. A selector may have several values, of which one has to match. All
         selectors of parts have to match the same part of the request: topic "t" and partition 1 select partition 1 of
         t, whatever else the request has.
JSON     A mapping with the names below; one value, or a list of them. `predicate` is for Python alone.
Aliases  kfake's names: keys, key, node, nodes, topics, partitions, topic_ids, txn_id, group_id, member_id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Final
from uuid import UUID

from fakebroker.core.faults import reading
from fakebroker.core.faults.points import POINTS
from fakebroker.core.faults.table import api_keys, api_names
from fakebroker.core.security.sasl import aws_msk_iam, oauth_bearer, plain
from fakebroker.core.security.sasl.scram_formatter import MECHANISMS

_VERSIONS: Final = re.compile(r"(\d{1,5})(?:-(\d{1,5})|(\+))?", re.ASCII)
_NEWEST: Final = 32_767
_MECHANISMS: Final = (
    plain.MECHANISM,
    *(mechanism.name for mechanism in MECHANISMS.values()),
    oauth_bearer.MECHANISM,
    aws_msk_iam.MECHANISM,
)

ALIASES: Final = {
    "apis": "api",
    "key": "api",
    "keys": "api",
    "node": "broker",
    "nodes": "broker",
    "brokers": "broker",
    "topics": "topic",
    "topic_ids": "topic_id",
    "partitions": "partition",
    "groups": "group",
    "group_id": "group",
    "members": "member",
    "member_id": "member",
    "principals": "principal",
    "txn_id": "transactional_id",
    "txn_ids": "transactional_id",
    "point": "at",
    "version": "versions",
}

# The names that select a part of a request.
ENTITY_SELECTORS: Final = ("topic", "topic_id", "partition", "group", "member", "transactional_id", "resource")
_READ: Final[Mapping[str, Callable[[object, str], object]]] = {
    **dict.fromkeys(("client_id", "listener", "group", "member", "transactional_id", "resource"), reading.text),
    "principal": reading.principal,
    "mechanism": partial(reading.one_of, known=_MECHANISMS),
    "topic": reading.topic,
    "broker": partial(reading.whole, least=0),
    "connection": partial(reading.whole, least=1),
    "partition": reading.partition,
}


@dataclass(frozen=True)
class When:
    """The selectors of a fault.

    api               by name, "Produce", or by key; kept as names
    versions          of the request: 9, "3-9", "9+"; kept as (lowest, highest)
    broker            the broker of the request, by id
    client_id, listener, connection
                      the client of the request; connections are counted from 1
    principal         of the client: "User:alice", or "User:ANONYMOUS"; in a login, the one that the client claims to be
    mechanism         of SASL, by which the client has authenticated or wants to: "SCRAM-SHA-256"
    topic, topic_id, partition, group, member, transactional_id, resource
                      the part of the request. A resource is one with configs: its name, or "topic:name"
    acks              of a Produce: -1, 0 or 1
    predicate         called last, with a view of the request (`SeenRequest`); returns True if it matches
    at                the point, one of POINTS; "" means the default point of the actions
    from_ms, until_ms on the broker's clock, milliseconds since the cluster started; until_ms is the first that is not
                      included, -1 for none
    """

    api: tuple[str, ...] = ()
    versions: tuple[tuple[int, int], ...] = ()
    broker: tuple[int, ...] = ()
    client_id: tuple[str, ...] = ()
    listener: tuple[str, ...] = ()
    connection: tuple[int, ...] = ()
    principal: tuple[str, ...] = ()
    mechanism: tuple[str, ...] = ()
    topic: tuple[str, ...] = ()
    topic_id: tuple[UUID, ...] = ()
    partition: tuple[int, ...] = ()
    group: tuple[str, ...] = ()
    member: tuple[str, ...] = ()
    transactional_id: tuple[str, ...] = ()
    resource: tuple[str, ...] = ()
    acks: tuple[int, ...] = ()
    predicate: Callable[[Any], bool] | None = None
    at: str = ""
    from_ms: int = 0
    until_ms: int = -1

    def __post_init__(self) -> None:
        """Make tuples of single values. Raise ValueError for invalid ones."""
        self._set("api", tuple(dict.fromkeys(map(_api, _values(self.api, "'api'")))))
        self._set("versions", tuple(map(_version_range, _versions(self.versions))))
        for name, read in _READ.items():
            where = f"'{name}'"
            self._set(name, tuple(read(value, where) for value in _values(getattr(self, name), where)))
        self._set("acks", tuple(reading.whole(value, "'acks'", -1, 1) for value in _values(self.acks, "'acks'")))
        self._set("topic_id", tuple(map(_topic_id, _values(self.topic_id, "'topic_id'"))))
        if self.predicate is not None and not callable(self.predicate):
            raise ValueError(f"'predicate' must be a function of the request, not {reading.shown(self.predicate)}")
        if self.at and self.at not in POINTS:
            raise ValueError(f"there is no point {reading.shown(self.at)}{reading.meant(str(self.at), POINTS)}")
        reading.whole(self.from_ms, "'from_ms'", 0)
        reading.whole(self.until_ms, "'until_ms'", -1)
        if self.until_ms != -1 and self.until_ms <= self.from_ms:
            raise ValueError(f"'until_ms' must be above 'from_ms', {self.from_ms}, not {self.until_ms}")

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def read(cls, value: object) -> When:
        """Read a mapping, with aliases; a When is returned unchanged. Raise ValueError."""
        if isinstance(value, When):
            return value
        given: dict[str, Any] = {}
        for key, item in reading.mapping(value, "'when'").items():
            name = ALIASES.get(key, key)
            if name in given:
                raise ValueError(f"'when' has {name!r} twice: as {key!r} and under another name")
            given[name] = item
        reading.refuse_unknown(given, NAMES, "'when'")
        for name, item in given.items():
            if name not in ("predicate", "at", "from_ms", "until_ms"):
                reading.several(item, f"'{name}'")
        return cls(**given)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON from which `read` makes an equal value. Raise ValueError if there is a predicate, which has
        no JSON."""
        if self.predicate is not None:
            raise ValueError("a fault with a 'predicate' works in Python only: it has no JSON")
        said = {name: getattr(self, name) for name in NAMES if getattr(self, name) != getattr(_ANY, name)}
        return {name: _plain(name, value) for name, value in said.items()}

    @property
    def entity_selectors(self) -> tuple[str, ...]:
        """The names of the given selectors of parts."""
        return tuple(name for name in ENTITY_SELECTORS if getattr(self, name))


NAMES: Final = tuple(field.name for field in fields(When))


def _values(value: object, where: str) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else reading.several(value, where)


def _api(value: object) -> str:
    if isinstance(value, str):
        for name in api_keys():
            if name.lower() == value.lower():
                return name
        raise ValueError(f"there is no API {reading.shown(value)} here{reading.meant(value, api_keys())}")
    key = reading.whole(value, "'api'")
    if key not in api_names():
        raise ValueError(f"no API with the key {key} is served here: use a name, as in 'Produce'")
    return api_names()[key]


def _versions(value: object) -> tuple[Any, ...]:
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(bound, int) for bound in value):
        return (value,)  # one range
    return _values(value, "'versions'")


def _version_range(value: object) -> tuple[int, int]:
    if isinstance(value, tuple | list) and len(value) == 2:
        low, high = (reading.whole(bound, "'versions'", 0, _NEWEST) for bound in value)
    elif isinstance(value, str) and (match := _VERSIONS.fullmatch(value)):
        low = int(match[1])
        high = _NEWEST if match[3] else int(match[2] or low)
    elif isinstance(value, str):
        raise ValueError(f"'versions' must be a number, '3-9' or '9+', not {reading.shown(value)}")
    else:
        low = high = reading.whole(value, "'versions'", 0, _NEWEST)
    if low > high:
        raise ValueError(f"'versions' must go up, as in '3-9', not {reading.shown(value)}")
    return low, high


def _topic_id(value: object) -> UUID:
    if isinstance(value, UUID):
        return value
    try:
        return UUID(reading.text(value, "'topic_id'"))
    except ValueError:
        raise ValueError(f"'topic_id' must be a UUID as text, not {reading.shown(value)}") from None


def _plain(name: str, value: Any) -> Any:
    if name == "versions":
        value = tuple(_range_text(low, high) for low, high in value)
    elif name == "topic_id":
        value = tuple(map(str, value))
    if isinstance(value, tuple):
        return value[0] if len(value) == 1 else list(value)
    return value


def _range_text(low: int, high: int) -> int | str:
    if low == high:
        return low
    return f"{low}+" if high == _NEWEST else f"{low}-{high}"


_ANY: Final = When()


def as_when(value: When | Mapping[str, Any] | None) -> When:
    """Return the When of a value: a When, a mapping of one, or None for any request."""
    return _ANY if value is None else When.read(value)
