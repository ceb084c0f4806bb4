"""Settings of a producer, by release. `make conformance-producer` compares them with Kafka's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.producer.configurations import ours, settings_of
from fakebroker.producer.errors import ProducerConfigError
from fakebroker.producer.generation import Generation
from fakebroker.producer.producer_config import INT_MAX, ProducerConfig, default_settings

GOLDEN = Path(__file__).parents[1] / "golden" / "producer"


@pytest.mark.parametrize("generation", ["2.0", "4.3"])
def test_settings_come_to_what_kafka_makes_of_them(generation: str) -> None:
    lines = [json.loads(line) for line in (GOLDEN / f"settings-{generation}.jsonl").read_text().splitlines()]
    assert [line["settings"] for line in lines] == list(settings_of(generation)), "ask Kafka again"
    for line in lines:
        assert ours(generation, line["settings"]) == line["told"], line["settings"]


@pytest.mark.parametrize(
    ("generation", "acks", "idempotence", "retries", "linger_ms", "backoff_max_ms"),
    [
        ("2.0", 1, False, 0, 0, 100),
        ("2.1", 1, False, INT_MAX, 0, 100),
        ("2.8", 1, False, INT_MAX, 0, 100),
        ("3.0", -1, True, INT_MAX, 0, 100),
        ("3.7", -1, True, INT_MAX, 0, 1_000),
        ("4.0", -1, True, INT_MAX, 5, 1_000),
        ("4.4", -1, True, INT_MAX, 5, 1_000),
    ],
)
def test_the_defaults_are_those_of_the_release(
    generation: str, acks: int, idempotence: bool, retries: int, linger_ms: int, backoff_max_ms: int
) -> None:
    config = ProducerConfig(generation)
    assert (config.acks, config.enable_idempotence, config.retries) == (acks, idempotence, retries)
    assert (config.linger_ms, config.retry_backoff_max_ms) == (linger_ms, backoff_max_ms)


def test_a_release_has_the_settings_that_it_had() -> None:
    assert "delivery.timeout.ms" not in default_settings("2.0")
    assert "delivery.timeout.ms" in default_settings("2.1")
    assert set(default_settings("3.9")) - set(default_settings("2.1")) == {
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.ignore.keys",
        "metadata.max.idle.ms",
        "metadata.recovery.strategy",
        "retry.backoff.max.ms",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
    }
    assert set(default_settings("4.4")) - set(default_settings("4.3")) == {"metadata.cluster.check.enable"}
    assert default_settings("3.9")["metadata.recovery.strategy"] == "none"
    assert default_settings("4.0")["metadata.recovery.strategy"] == "rebootstrap"


@pytest.mark.parametrize(
    ("generation", "settings", "why"),
    [
        ("2.0", {"delivery.timeout.ms": 1}, "delivery.timeout.ms is not there in 2.0: it came with 2.1"),
        ("4.3", {"delivery.timeout.ms": 30_004}, "must be at least linger.ms + request.timeout.ms, 30005"),
        ("4.3", {"lingerms": 1}, "lingerms is no setting of a producer here"),
        ("4.3", {"linger.ms": "soon"}, "linger.ms=soon must be a whole number"),
        ("4.3", {"linger.ms": True}, "linger.ms=True must be a whole number"),
        ("4.3", {"batch.size": 2**31}, "batch.size=2147483648 must be from 0 to 2147483647"),
        ("4.3", {"acks": "two"}, "acks=two must be all, -1, 0 or 1"),
        ("4.3", {"enable.idempotence": "maybe"}, "enable.idempotence=maybe must be true or false"),
        ("4.3", {"enable.idempotence": True, "acks": 1}, "needs acks=all"),
        ("4.3", {"enable.idempotence": True, "retries": 0}, "needs retries above 0"),
        ("4.3", {"max.in.flight.requests.per.connection": 6}, "at most 5, and it is 6"),
        ("3.9", {"enable.idempotence": True, "max.in.flight.requests.per.connection": 6}, "at most 5, and it is 6"),
        ("4.3", {"compression.type": "best"}, "compression.type=best must be one of none, gzip, snappy, lz4, zstd"),
        ("2.0", {"compression.type": "zstd"}, "compression.type=zstd must be one of none, gzip, snappy, lz4."),
        ("4.3", {"metadata.recovery.strategy": "hope"}, "metadata.recovery.strategy=hope must be none or rebootstrap"),
        ("1.1", {}, "generation='1.1' is not known"),
        ("4.5", {}, "generation='4.5' is not known"),
        ("new", {}, "generation='new' is no release of Kafka"),
        ("4.x", {}, "generation='4.x' is no release of Kafka"),
        ("4.\N{ARABIC-INDIC DIGIT THREE}", {}, "is no release of Kafka"),
        ("4.3.0", {}, "generation='4.3.0' is no release of Kafka"),
    ],
)
def test_what_kafka_refuses_is_refused_in_a_sentence(generation: str, settings: dict[str, object], why: str) -> None:
    with pytest.raises(ProducerConfigError) as refused:
        ProducerConfig(generation, settings)
    assert why in str(refused.value)


def test_before_4_0_many_in_flight_cost_a_default_idempotence() -> None:
    assert not ProducerConfig("3.9", {"max.in.flight.requests.per.connection": 6}).enable_idempotence


def test_a_default_delivery_timeout_is_raised_if_it_is_too_short() -> None:
    assert ProducerConfig("4.3", {"request.timeout.ms": 200_000}).delivery_timeout_ms == 200_005


def test_generations_are_compared_by_number() -> None:
    assert Generation("2.0") < Generation("2.1") < Generation("3.9") < Generation("4.0")
    assert Generation("2.1") == Generation("2.1")
    assert len({Generation("4.3"), Generation("4.3"), Generation("4.4")}) == 2
