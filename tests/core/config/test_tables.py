"""The tables of settings: each of Kafka's names occurs once, and the column of the code that applies a setting is
true."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.config_def import Type, to_text
from fakebroker.core.config.setting import Config, Setting, UpdateMode
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.errors import ConfigError

ROOT = Path(__file__).resolve().parents[3]
KINDS: tuple[type[Config], ...] = (BrokerConfig, TopicConfig)
KAFKA = json.loads(Path(__file__).with_name("kafka_configs.json").read_text())

# Where we differ from Kafka, and why.
OWN_DEFAULTS = {  # min(3, brokers): docs/decisions.md
    "default.replication.factor": "0",
    "offsets.topic.replication.factor": "0",
    "transaction.state.log.replication.factor": "0",
}
NOT_KNOWN_HERE = {"internal.segment.bytes"}  # for Kafka's own tests

PYTHON_TYPES: dict[Type, type] = {
    Type.BOOLEAN: bool,
    Type.INT: int,
    Type.SHORT: int,
    Type.LONG: int,
    Type.DOUBLE: float,
    Type.LIST: tuple,
    Type.STRING: str,
    Type.CLASS: str,
    Type.PASSWORD: str,
}


def entries() -> list[Setting[Any]]:
    return [key for kind in KINDS for key in kind.SETTINGS.values()]


@pytest.mark.parametrize("kind", KINDS)
def test_each_setting_stands_once(kind: type[Config]) -> None:
    names = [value.name for base in kind.__mro__ for value in vars(base).values() if isinstance(value, Setting)]
    assert sorted(names) == sorted(kind.SETTINGS)
    assert not [name for name, key in kind.SETTINGS.items() if getattr(kind, key.attribute) is not key]


def test_brokers_have_the_settings_of_kafka() -> None:
    ours = {
        key.name: [key.name, key.type.value, None if key.default is None else to_text(key.default), key.mode.value]
        for key in BrokerConfig.SETTINGS.values()
        if key.is_kafkas
    }
    kafkas = {row[0]: row for row in KAFKA["brokers"]}
    for name, default in OWN_DEFAULTS.items():
        assert kafkas[name][2] != default
        kafkas[name][2] = default
    assert ours == kafkas
    assert [key.name for key in BrokerConfig.SETTINGS.values() if not key.is_kafkas] == [
        "log.memory.bytes",
        "log.memory.full",
        "fakebroker.request.handler.time.us",
        "fakebroker.controller.delay.ms",
        "fakebroker.metadata.delay.ms",
        "fakebroker.request.max.elements",
        "fakebroker.aws.msk.iam.credentials",
        "super.users",
        "allow.everyone.if.no.acl.found",
    ]


def test_topics_have_the_settings_of_kafka() -> None:
    ours = {key.name: [key.name, key.type.value, to_text(key.default)] for key in TopicConfig.SETTINGS.values()}
    assert ours == {row[0]: row for row in KAFKA["topics"] if row[0] not in NOT_KNOWN_HERE}
    assert {key.mode for key in TopicConfig.SETTINGS.values()} == {UpdateMode.DYNAMIC}


WIDTHS = {Type.SHORT: 16, Type.INT: 32, Type.LONG: 64}  # bits
RANGES = {(kind, name): text for kind, name, text in KAFKA["ranges"]}  # of numbers
NARROWER = {  # what Kafka would take there lets a broker do nothing but that
    "fetch.purgatory.purge.interval.requests": 0,
    "producer.purgatory.purge.interval.requests": 0,
    "replica.lag.time.max.ms": 1,
}


@pytest.mark.parametrize(("name", "kind"), [("brokers", BrokerConfig), ("topics", TopicConfig)])
def test_a_number_has_the_range_of_kafka(name: str, kind: type[Config]) -> None:
    for key in kind.SETTINGS.values():
        if key.type not in WIDTHS or not key.is_kafkas or key.name in {"compression.gzip.level", *OWN_DEFAULTS}:
            continue
        widest = 1 << (WIDTHS[key.type] - 1)
        least, _, most = RANGES.get((name, key.name), "[...,...]").strip("[]").partition(",...")
        smallest = NARROWER.get(key.name, -widest)
        ends = int(least) if least != "..." else smallest, int(most.strip(",")) if most.strip(",") else widest - 1
        assert [key.parse(str(end)) for end in ends] == list(ends), key.name
        for wrong in (ends[0] - 1, ends[1] + 1):
            with pytest.raises(ConfigError, match=re.escape(key.name)):
                key.parse(str(wrong))


def test_brokers_have_the_defaults_of_topics_under_kafkas_names() -> None:
    for topic, *names in KAFKA["synonyms"]:
        ours = [key for key in BrokerConfig.SETTINGS.values() if key.topic == topic]
        assert [key.name for key in ours] == names  # in the order in which they count
        assert {key.applied_by for key in ours} == {TopicConfig.SETTINGS[topic].applied_by}
        assert all(key.type.value in ("INT", "LONG") for key in ours if key.unit != 1)
    assert BrokerConfig().topic_defaults == TopicConfig()
    assert BrokerConfig().topic_entries == {}


def test_a_default_in_other_units_is_the_same() -> None:
    hours = {key.name: key for key in BrokerConfig.SETTINGS.values() if key.name.endswith(".hours")}
    assert len(hours) == 3
    for key in hours.values():
        assert key.topic is not None
        assert key.default * key.unit == TopicConfig.SETTINGS[key.topic].default


def test_a_default_is_a_right_value() -> None:
    for key in entries():
        if key.default is not None:
            assert type(key.default) is PYTHON_TYPES[key.type], key.name
            default: Any = key.default
            assert key.parse(to_text(default)) == key.default, key.name


def test_it_is_told_in_a_few_words() -> None:
    assert not [key.name for key in entries() if not 0 < len(key.doc) < 100 or key.doc.endswith(".")]


# The code that applies a setting.


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((ROOT / "fakebroker").rglob("*.py")):
        name = path.relative_to(ROOT / "fakebroker").with_suffix("").as_posix()
        if not name.startswith(("core/config/", "producer/")):  # the producer has settings of its own
            yield name, ast.parse(path.read_text())


@cache
def reads() -> dict[str, set[str]]:
    """Return by module the attributes that are read of a configuration."""
    attributes: dict[str, set[str]] = {}
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and _last_name(node.value) in ("config", "_config", "current"):
                attributes.setdefault(name, set()).add(node.attr)
    return attributes


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def attribute_read(key: Setting[Any]) -> str:
    """Return the attribute that is read: a default for topics is applied by the code of the topic's setting."""
    return key.attribute if key.topic is None else TopicConfig.SETTINGS[key.topic].attribute


def test_each_setting_is_read_by_the_module_that_applies_it() -> None:
    applied = [key for key in entries() if key.applied_by is not None]
    assert len(applied) > 40
    assert not [key.name for key in applied if attribute_read(key) not in reads().get(str(key.applied_by), set())]


def test_each_setting_that_is_read_names_its_module() -> None:
    read = {attribute for attributes in reads().values() for attribute in attributes}
    assert not [key.name for key in entries() if key.attribute in read and key.applied_by is None]
