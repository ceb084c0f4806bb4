"""The pytest settings for the clusters of all tests: `kafka_brokers = 1` in `[tool.pytest.ini_options]`."""

from __future__ import annotations

from typing import Any

import pytest

from fakebroker.testing.plugin.wanted import Slip, Topic

_KEYS = {
    "kafka_brokers": ("string", "how many brokers the clusters of kafka_cluster have (3)"),
    "kafka_clock": ("string", "their clock: real, manual or auto (real; manual for a test with kafka_clock)"),
    "kafka_configs": ("linelist", "settings of their brokers, one name=value a line"),
    "kafka_defaults": ("string", "their defaults: fakebroker, test (tests wait less) or kafka (fakebroker)"),
    "kafka_followers": ("string", "what their followers do from the start: instant, lagging:MS, frozen, ... (instant)"),
    "kafka_unfired": ("string", "a fault that never fired: fails the test, or is allowed (fails)"),
    "kafka_topics": ("linelist", "their topics, one NAME[:PARTITIONS[:REPLICATION]][,config=value...] a line"),
}


def add_keys(parser: pytest.Parser) -> None:
    for name, (kind, text) in _KEYS.items():
        parser.addini(name, text, kind)  # type: ignore[arg-type]


def read_keys(config: pytest.Config) -> dict[str, Any]:
    """Return the settings as arguments of the marker. Raises Slip."""
    said: dict[str, Any] = {}
    if brokers := config.getini("kafka_brokers"):
        try:
            said["brokers"] = int(brokers)
        except ValueError:
            raise Slip(f"kafka_brokers must be a whole number, not {brokers!r}") from None
    for name in ("clock", "defaults", "followers", "unfired"):
        if value := config.getini(f"kafka_{name}"):
            said[name] = value
    if configs := config.getini("kafka_configs"):
        said["configs"] = _settings(configs)
    if topics := config.getini("kafka_topics"):
        said["topics"] = [_topic(text) for text in topics]
    return said


def _settings(lines: list[str]) -> dict[str, str]:
    settings = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if not equals:
            raise Slip(f"kafka_configs has {line!r} where name=value belongs, as in message.max.bytes=500")
        settings[name.strip()] = value.strip()
    return settings


def _topic(text: str) -> Topic:
    from fakebroker.commands import command_line, specs

    try:
        read = specs.parse_topic(text)
    except command_line.Slip as slip:
        raise Slip(str(slip).replace("--topic", "kafka_topics")) from None
    return Topic(read.name, {key: value for key, value in read._asdict().items() if key != "name"})
