"""The pytest settings for the clusters of all tests: `kafka_brokers = 1` in `[tool.pytest.ini_options]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from fakebroker.testing.plugin.cluster_request import ClusterRequestError, TopicArguments

T = TypeVar("T")

_KEYS = {
    "kafka_brokers": ("string", "how many brokers the clusters of kafka_cluster have (3)"),
    "kafka_clock": ("string", "their clock: real, manual or auto (real; manual for a test with kafka_clock)"),
    "kafka_configs": ("linelist", "settings of their brokers, one name=value a line"),
    "kafka_defaults": ("string", "their defaults: fakebroker, test (tests wait less) or kafka (fakebroker)"),
    "kafka_followers": ("string", "what their followers do from the start: instant, lagging:MS, frozen, ... (instant)"),
    "kafka_unfired": ("string", "a fault that never fired: fails the test, or is allowed (fails)"),
    "kafka_listeners": ("linelist", "their listeners, one PROTOCOL or NAME=PROTOCOL://HOST:PORT a line (PLAINTEXT)"),
    "kafka_users": ("linelist", "their users of SASL, one NAME=PASSWORD a line"),
    "kafka_topics": ("linelist", "their topics, one NAME[:PARTITIONS[:REPLICATION]][,config=value...] a line"),
}


def add_keys(parser: pytest.Parser) -> None:
    for name, (kind, text) in _KEYS.items():
        parser.addini(name, text, kind)  # type: ignore[arg-type]


def read_keys(config: pytest.Config) -> dict[str, Any]:
    """Return the settings as arguments of the marker. Raises ClusterRequestError."""
    said: dict[str, Any] = {}
    if brokers := config.getini("kafka_brokers"):
        try:
            said["brokers"] = int(brokers)
        except ValueError:
            raise ClusterRequestError(f"kafka_brokers must be a whole number, not {brokers!r}") from None
    for name in ("clock", "defaults", "followers", "unfired"):
        if value := config.getini(f"kafka_{name}"):
            said[name] = value
    if listeners := config.getini("kafka_listeners"):
        said["listeners"] = listeners
    if not any(config.getini(name) for name in ("kafka_configs", "kafka_topics", "kafka_users")):
        return said
    from fakebroker.server.made.option_texts import parse_setting, parse_topic, parse_user

    if users := config.getini("kafka_users"):
        said["users"] = dict(_read("kafka_users", parse_user, users))

    if configs := config.getini("kafka_configs"):
        said["configs"] = dict(_read("kafka_configs", parse_setting, configs))
    if topics := config.getini("kafka_topics"):
        specs = [topic._asdict() for topic in _read("kafka_topics", parse_topic, topics)]
        said["topics"] = [TopicArguments(spec.pop("name"), spec) for spec in specs]
    return said


def _read(key: str, parse: Callable[[str], T], lines: list[str]) -> list[T]:
    try:
        return [parse(line) for line in lines]
    except ValueError as error:
        raise ClusterRequestError(f"{key} {error}") from None
