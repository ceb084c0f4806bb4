"""Resources with settings, and operations on settings, by the numbers of requests.

Source   clients/.../common/config/ConfigResource.java; clients/.../admin/AlterConfigOp.java @ 4.4
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final, NamedTuple

from fakebroker.core.errors import KafkaError
from fakebroker.protocol.error_code import ErrorCode

TOPIC: Final = 2
BROKER: Final = 4
BROKER_LOGGER: Final = 8
CLIENT_METRICS: Final = 16
GROUP: Final = 32
RESOURCE_TYPES: Final = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)

_INTEGER = re.compile(r"[+-]?\d+")


class ConfigResource(NamedTuple):
    """A resource. `kind` is any number that a request may have; an empty `name` means the default of all brokers."""

    kind: int
    name: str


class OpType(IntEnum):
    """The operation on a setting: set a value, remove it, or add to or subtract from a list."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Alteration(NamedTuple):
    """A change of one setting. `operation` is any number that a request may have."""

    name: str
    operation: int
    value: str | None


def int_of(text: str) -> int | None:
    """Return the number as Java's Integer.parseInt reads it; None if it is invalid."""
    if not _INTEGER.fullmatch(text) or len(text) > 4000:
        return None
    value = int(text)
    return value if -(2**31) <= value < 2**31 else None


def refuse_other_node(name: str, broker_id: int) -> None:
    """Raise KafkaError unless `name` is the id of the broker of the request."""
    named = int_of(name)
    if named is None:
        raise KafkaError(ErrorCode.invalid_request, f"Node id must be an integer, but it is: {name}")
    if named != broker_id:
        raise KafkaError(ErrorCode.invalid_request, f"Unexpected broker id, expected {broker_id}, but received {name}")
