"""Helpers for the tables of brokers' settings: defaults of topics, and validators."""

from __future__ import annotations

import re
from typing import TypeVar

from fakebroker.core.config.config_def import Value, some_of
from fakebroker.core.config.ip_overrides import parse_overrides
from fakebroker.core.config.listener_endpoints import parse_endpoints, parse_protocols
from fakebroker.core.config.setting import CLUSTER_WIDE, Setting
from fakebroker.core.errors import ConfigError
from fakebroker.core.iam_access_keys import parse_access_keys

T = TypeVar("T")

_VOTER = re.compile(r"[0-9]+@[^@:]+:[0-9]+|[0-9]+@\[[0-9A-Fa-f:]+\]:[0-9]+")
_ENDPOINT = re.compile(r"[^@:]+:[0-9]+|\[[0-9A-Fa-f:]+\]:[0-9]+")


def default_of(topics: Setting[T]) -> Setting[T]:
    """Return the brokers' setting with the default of a topic setting, under the brokers' name."""
    return Setting(
        topics.type,
        topics.default,
        topics.validator,
        mode=CLUSTER_WIDE,
        topic=topics.name,
        by=topics.applied_by,
        doc=topics.doc,
    )


def addresses(name: str, value: Value) -> None:
    """Check `max.connections.per.ip.overrides`."""
    parse_overrides(str(value))


def access_keys(name: str, value: Value) -> None:
    """Check `fakebroker.aws.msk.iam.credentials`."""
    parse_access_keys(str(value))


def endpoints(name: str, value: Value) -> None:
    """Check `listeners` and `advertised.listeners`."""
    some_of()(name, value)
    parse_endpoints(_items(value))


def protocols(name: str, value: Value) -> None:
    """Check `listener.security.protocol.map`."""
    parse_protocols(str(value))


def voters(name: str, value: Value) -> None:
    """Check the value as ControllerQuorumVotersValidator does."""
    if not all(_VOTER.fullmatch(item) for item in _items(value)):
        raise ConfigError(
            f"Invalid configuration value for {name}. Each entry should be in the form `{{id}}@{{host}}:{{port}}`."
        )


def bootstrap_servers(name: str, value: Value) -> None:
    """Check the value as ControllerQuorumBootstrapServersValidator does."""
    for item in _items(value):
        if not _ENDPOINT.fullmatch(item):
            raise ConfigError(
                f"Failed to parse host name from {item} for the configuration {name}. "
                'Each entry should be in the form "{host}:{port}"'
            )


def _items(value: Value) -> tuple[str, ...]:
    assert isinstance(value, tuple)
    return value
