"""Common parts of the cases about settings: resources, and the requests that describe and alter them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.frames import request
from conformance.scenario import CatchUp, Pause, Send, Settle, Step

DESCRIBE_CONFIGS, ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS, LIST_CONFIG_RESOURCES = 32, 33, 44, 74
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3

Resource = tuple[int, str]
Operation = tuple[str, int, str | None]


def describe(
    *resources: tuple[int, str, Sequence[str] | None], version: int = 4, correlation_id: int = 1, **flags: bool
) -> bytes:
    """Resources are (type, name, keys); None asks for all keys."""
    values: dict[str, Any] = {
        "resources": [
            {"resource_type": kind, "resource_name": name, "configuration_keys": None if keys is None else tuple(keys)}
            for kind, name, keys in resources
        ],
    }
    return request(DESCRIBE_CONFIGS, version, values | flags, correlation_id)


def incremental(
    *resources: tuple[int, str, Sequence[Operation]],
    version: int = 1,
    correlation_id: int = 1,
    validate_only: bool = False,
) -> bytes:
    """Resources are (type, name, operations), operations (name, operation, value)."""
    values = {
        "resources": [
            {
                "resource_type": kind,
                "resource_name": name,
                "configs": [
                    {"name": key, "config_operation": operation, "value": value} for key, operation, value in operations
                ],
            }
            for kind, name, operations in resources
        ],
        "validate_only": validate_only,
    }
    return request(INCREMENTAL_ALTER_CONFIGS, version, values, correlation_id)


def alter(
    *resources: tuple[int, str, Mapping[str, str | None] | Sequence[tuple[str, str | None]]],
    version: int = 2,
    correlation_id: int = 1,
    validate_only: bool = False,
) -> bytes:
    """Resources are (type, name, configs): these, and no others."""
    values = {
        "resources": [
            {
                "resource_type": kind,
                "resource_name": name,
                "configs": [
                    {"name": key, "value": value}
                    for key, value in (configs.items() if isinstance(configs, Mapping) else configs)
                ],
            }
            for kind, name, configs in resources
        ],
        "validate_only": validate_only,
    }
    return request(ALTER_CONFIGS, version, values, correlation_id)


def listed(*types: int, version: int = 1, correlation_id: int = 1) -> bytes:
    return request(LIST_CONFIG_RESOURCES, version, {"resource_types": types}, correlation_id)


def one_by_one(*frames: bytes, pause_ms: int = 0) -> tuple[Step, ...]:
    """Each when what was done before is known to all; `pause_ms` later, where a broker of Kafka also has to act on it:
    it tells what it was set before it does."""
    steps: list[Step] = []
    for frame in frames:
        steps += [Send((frame,)), Settle(), CatchUp(), *([Pause(pause_ms)] if pause_ms else [])]
    return tuple(steps)
