"""Kafka's defaults where ours differ: `defaults="kafka"`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fakebroker import FakeCluster, KafkaError
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.broker_configs.ours import KAFKA_DEFAULTS, TEST_DEFAULTS
from fakebroker.server.made.arguments import Arguments
from fakebroker.server.made.spec import ClusterSpec

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


def config(defaults: str, **given: Any) -> BrokerConfig:
    texts = {name.replace("_", "."): value for name, value in given.items()}
    return Arguments.read(ClusterSpec(config=texts, defaults=defaults)).config


def test_ours_are_the_default() -> None:
    assert config("fakebroker") == BrokerConfig()


def test_kafkas_count_where_nothing_is_given() -> None:
    made = config("kafka")
    assert (made.default_replication_factor, made.log_memory_bytes) == (1, -1)
    assert made.given == made.static == {}  # no default was given
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


def section(title: str) -> str:
    return PAGE.read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_page_lists_them_all() -> None:
    rows = re.findall(
        r"^\| `([a-z.]+)` \| [^|]+ \| [^|]+ \|", section("Where our defaults are not Kafka's"), re.MULTILINE
    )
    assert {attribute.replace("_", ".") for attribute in KAFKA_DEFAULTS} == set(rows)


# `defaults="test"`.

WAITING = ("delay.ms", "interval.ms", "backoff.ms")  # of settings that say how long something waits, or how often it is


def test_those_for_tests_differ_from_kafka_in_how_long_something_waits_and_in_nothing_else() -> None:
    for_tests, ours = config("test"), config("fakebroker")
    differ = {
        key.name: (getattr(for_tests, key.attribute), getattr(ours, key.attribute))
        for key in BrokerConfig.SETTINGS.values()
        if getattr(for_tests, key.attribute) != getattr(ours, key.attribute)
    }
    assert set(differ) == {attribute.replace("_", ".") for attribute in TEST_DEFAULTS}
    for name, (less, kafkas) in differ.items():
        assert name.endswith(WAITING)
        assert less < kafkas == BrokerConfig.SETTINGS[name].default  # which is Kafka's (core/config/test_tables.py)
    assert for_tests.given == {}


def test_the_page_tells_those_for_tests_with_kafkas() -> None:
    rows = re.findall(r"^\| `([a-z.]+)` \| (\d+) \| (\d+) \|", section("Defaults for tests"), re.MULTILINE)
    assert rows == [
        (name, str(value), str(BrokerConfig.SETTINGS[name].default))
        for name, value in ((attribute.replace("_", "."), value) for attribute, value in TEST_DEFAULTS.items())
    ]


def test_each_is_a_value_that_kafka_takes() -> None:
    for attribute, value in TEST_DEFAULTS.items():
        assert getattr(BrokerConfig, attribute).parse(str(value)) == value


def test_what_is_given_counts_before_those_for_tests() -> None:
    made = config("test", group_initial_rebalance_delay_ms=1500)
    assert made.group_initial_rebalance_delay_ms == 1500
    assert made.group_consumer_assignment_interval_ms == 0


def test_other_defaults_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="defaults are fakebroker, kafka, test, not 'tests'"):
        config("tests")
