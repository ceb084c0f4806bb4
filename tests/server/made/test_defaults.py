"""Kafka's defaults where ours differ: `defaults="kafka"`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fakebroker import FakeCluster, KafkaError
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.broker_configs.ours import KAFKA_DEFAULTS
from fakebroker.server.made.arguments import Arguments

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


def config(defaults: str, **given: Any) -> BrokerConfig:
    texts = {name.replace("_", "."): value for name, value in given.items()}
    return Arguments.read(3, None, None, None, "", 0, None, 0, "instant", texts, defaults, 0).config


def test_ours_are_the_default() -> None:
    assert config("fakebroker") == BrokerConfig()


def test_kafkas_count_where_nothing_is_given() -> None:
    made = config("kafka")
    assert (made.default_replication_factor, made.log_memory_bytes) == (1, -1)
    assert made.given == made.static == {}  # nobody has given them
    assert made.without_effect == []


def test_what_is_given_counts_before_them() -> None:
    made = config("kafka", default_replication_factor=2)
    assert (made.default_replication_factor, made.log_memory_bytes) == (2, -1)


def test_they_are_there_again_when_what_was_altered_is_taken_back() -> None:
    altered = config("kafka").layered({"log_memory_bytes": 5000}, {})
    assert (altered.log_memory_bytes, altered.default_replication_factor) == (5000, 1)
    back = altered.layered({}, {})
    assert (back.log_memory_bytes, back.default_replication_factor) == (-1, 1)
    assert back.with_text({"num.partitions": "2"}).default_replication_factor == 1


def test_a_topic_has_one_replica_as_in_kafka() -> None:
    with FakeCluster(defaults="kafka") as kafka:
        kafka.create_topic("t")
        with pytest.raises(KafkaError):
            kafka.move_leader("t", 0, 2)


def test_each_differs_from_ours() -> None:
    for attribute, value in KAFKA_DEFAULTS.items():
        assert getattr(BrokerConfig(), attribute) != value
        getattr(BrokerConfig, attribute).parse(str(value))


def test_the_page_lists_them_all() -> None:
    rows = re.findall(r"^\| `([a-z.]+)` \| [^|]+ \| [^|]+ \|", PAGE.read_text(), re.MULTILINE)
    assert {attribute.replace("_", ".") for attribute in KAFKA_DEFAULTS} <= set(rows)
