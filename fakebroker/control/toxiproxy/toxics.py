"""Toxics: changes of a proxy to the bytes that pass, with toxiproxy's names and attributes.

Units    as toxiproxy's: milliseconds, but microseconds for a slicer's delay; bytes; a bandwidth is KB a second.
Source   toxiproxy 2.x toxics/, toxic_collection.go, api.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

DOWNSTREAM: Final = "downstream"
UPSTREAM: Final = "upstream"

ATTRIBUTES: Final[Mapping[str, tuple[str, ...]]] = {
    "latency": ("latency", "jitter"),
    "bandwidth": ("rate",),
    "slow_close": ("delay",),
    "timeout": ("timeout",),
    "reset_peer": ("timeout",),
    "slicer": ("average_size", "size_variation", "delay"),
    "limit_data": ("bytes",),
}
_MOST: Final = 2**53


class ApiError(Exception):
    """An error in toxiproxy's form."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def bad_request(why: str) -> ApiError:
    return ApiError(400, f"bad request body: {why}")


@dataclass
class Toxic:
    """A toxic. `toxicity` is the probability that a connection has it."""

    name: str
    type: str
    stream: str
    toxicity: float
    attributes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Toxic:
        """Read a toxic. Raises ApiError."""
        kind = text(body, "type", "")
        stream = text(body, "stream", "") or DOWNSTREAM
        if stream not in (DOWNSTREAM, UPSTREAM):
            raise ApiError(400, "stream was invalid, can be either upstream or downstream")
        if kind not in ATTRIBUTES:
            raise ApiError(400, "invalid toxic type")
        name = name_of(body) or f"{kind}_{stream}"
        made = cls(name, kind, stream, _toxicity(body, 1.0), dict.fromkeys(ATTRIBUTES[kind], 0))
        made.attributes |= _attributes(kind, body)
        return made

    def updated(self, body: Mapping[str, Any]) -> Toxic:
        """Return the toxic with other attributes or another toxicity. Raises ApiError."""
        attributes = self.attributes | _attributes(self.type, body)
        return Toxic(self.name, self.type, self.stream, _toxicity(body, self.toxicity), attributes)

    def to_json(self) -> dict[str, Any]:
        return {
            "attributes": self.attributes,
            "name": self.name,
            "type": self.type,
            "stream": self.stream,
            "toxicity": self.toxicity,
        }


def name_of(body: Mapping[str, Any]) -> str:
    """Return the name of a proxy or toxic, "" if there is none. Raises ApiError for one that no path could have."""
    name = text(body, "name", "")
    if "/" in name or name in (".", ".."):
        raise bad_request(f"{name!a} is no name: a path /proxies/NAME has no / in it, and does not end in . or ..")
    return name


def text(body: Mapping[str, Any], name: str, default: str) -> str:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise bad_request(f"{name} is a string")
    return value


def _toxicity(body: Mapping[str, Any], default: float) -> float:
    value = body.get("toxicity")
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise bad_request("toxicity is a number from 0 to 1")
    return float(value)


def _attributes(kind: str, body: Mapping[str, Any]) -> dict[str, int]:
    """Return the attributes that the type has; others are ignored, as in toxiproxy."""
    given = body.get("attributes")
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise bad_request("attributes is an object")
    attributes: dict[str, int] = {}
    for name in ATTRIBUTES[kind]:
        value = given.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
            raise bad_request(f"{name} is a whole number of at least 0")
        attributes[name] = value
    return attributes
