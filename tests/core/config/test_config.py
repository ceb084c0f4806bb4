"""Settings are read as Kafka reads them, and refused in Kafka's words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.config_def import Type, parse_type, to_text
from fakebroker.core.config.setting import ConfigEntry
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.errors import ConfigError
from fakebroker.protocol.error_code import ErrorCode

LONG_MAX = 9223372036854775807


def refusal(configs: dict[str, str | None]) -> str:
    with pytest.raises(ConfigError) as raised:
        TopicConfig.of(configs, TopicConfig())
    assert raised.value.code == ErrorCode.invalid_config
    return raised.value.message


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("retention.ms", "abc", "Not a number of type LONG"),
        ("retention.ms", "null", "Not a number of type LONG"),
        ("retention.ms", "", "Not a number of type LONG"),
        ("retention.ms", "1.0", "Not a number of type LONG"),
        ("retention.ms", "1_000", "Not a number of type LONG"),
        ("retention.ms", "1 000", "Not a number of type LONG"),
        ("retention.ms", "\u00a01", "Not a number of type LONG"),
        ("retention.ms", "--1", "Not a number of type LONG"),
        ("retention.ms", "0x10", "Not a number of type LONG"),
        ("retention.ms", str(LONG_MAX + 1), "Not a number of type LONG"),
        ("retention.ms", "9" * 10_000, "Not a number of type LONG"),
        ("retention.ms", "-2", "Value must be at least -1"),
        ("max.message.bytes", "99999999999", "Not a number of type INT"),
        ("max.message.bytes", "2147483648", "Not a number of type INT"),
        ("max.message.bytes", "-1", "Value must be at least 0"),
        ("min.insync.replicas", "0", "Value must be at least 1"),
        ("segment.bytes", "1048575", "Value must be at least 1048576"),
        ("min.cleanable.dirty.ratio", "1,5", "Not a number of type DOUBLE"),
        ("min.cleanable.dirty.ratio", "inf", "Not a number of type DOUBLE"),
        ("min.cleanable.dirty.ratio", "1.5", "Value must be no more than 1"),
        ("min.cleanable.dirty.ratio", "-0.5", "Value must be at least 0"),
        ("preallocate", "yes", "Expected value to be either true or false"),
        ("preallocate", "1", "Expected value to be either true or false"),
        ("compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1"),
        ("compression.lz4.level", "18", "Value must be no more than 17"),
        ("compression.zstd.level", "23", "Value must be no more than 22"),
        ("message.timestamp.type", "createtime", "String must be one of: CreateTime, LogAppendTime"),
        (
            "compression.type",
            "none",
            "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer",
        ),
        ("cleanup.policy", "compacted", "String must be one of: compact, delete"),
    ],
)
def test_a_wrong_value(name: str, value: str, problem: str) -> None:
    assert refusal({name: value}) == f"Invalid value {value} for configuration {name}: {problem}"


def test_the_value_is_shown_as_kafka_shows_it() -> None:
    # What could not be read is shown as it came, what is out of range as the number that it is.
    assert refusal({"segment.ms": " +x "}).startswith("Invalid value  +x  for")
    assert refusal({"segment.ms": " -07 "}).startswith("Invalid value -7 for")
    assert refusal({"min.cleanable.dirty.ratio": "2"}).startswith("Invalid value 2.0 for")
    assert refusal({"min.cleanable.dirty.ratio": "1e10"}).startswith("Invalid value 1.0E10 for")
    assert refusal({"cleanup.policy": "delete , nothing"}).startswith("Invalid value nothing for")
    assert refusal({"leader.replication.throttled.replicas": "0:1 ,x"}) == (
        "Invalid value [0:1, x] for configuration leader.replication.throttled.replicas: "
        "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: "
        "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
    )


def test_nulls_then_names_then_values_in_the_order_of_definition() -> None:
    values: dict[str, str | None] = {"retention.ms": "x", "segment.ms": "y"}
    assert "segment.ms" in refusal(values)
    assert refusal(values | {"foo": "1", "bar": "1"}) == "Unknown topic config name: foo"
    nulls = values | {"foo": "1", "b": None, "a": None}
    assert refusal(nulls) == "Null value not supported for topic configs: b,a"


def test_settings_that_contradict_each_other() -> None:
    assert refusal({"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "4"}) == (
        "conflict topic config setting min.compaction.lag.ms (5) > max.compaction.lag.ms (4)"
    )
    assert refusal({"remote.storage.enable": "true"}) == (
        "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retention.ms", str(LONG_MAX)),
        ("retention.ms", "\t +007 \r\n"),
        ("retention.bytes", str(-LONG_MAX - 1)),
        ("max.message.bytes", "2147483647"),
        ("min.cleanable.dirty.ratio", "5e-1f"),
        ("min.cleanable.dirty.ratio", ".5d"),
        ("min.cleanable.dirty.ratio", "1."),
        ("min.cleanable.dirty.ratio", "0x1p-1"),
        ("min.cleanable.dirty.ratio", "NaN"),
        ("preallocate", " TRUE "),
        ("cleanup.policy", "compact ,delete"),
        ("cleanup.policy", ""),
        ("compression.type", " zstd "),
        ("compression.gzip.level", "-1"),
        ("leader.replication.throttled.replicas", "*"),
        ("follower.replication.throttled.replicas", "0:1,1:2"),
    ],
)
def test_a_right_value(name: str, value: str) -> None:
    TopicConfig.of({name: value}, TopicConfig())


@given(st.integers(-(2**64), 2**64))
def test_integers_have_the_bits_of_their_type(number: int) -> None:
    for config_type, bits in ((Type.INT, 31), (Type.LONG, 63)):
        if -(2**bits) <= number < 2**bits:
            assert parse_type("x", str(number), config_type) == number
        else:
            with pytest.raises(ConfigError):
                parse_type("x", str(number), config_type)


@given(st.floats(allow_nan=False))
def test_a_double_is_read_back_as_it_was_written(number: float) -> None:
    assert parse_type("x", to_text(number), Type.DOUBLE) == number


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (0.001, "0.001"),
        (0.00012, "1.2E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (1.5e300, "1.5E300"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_are_written_as_in_java(number: float, text: str) -> None:
    assert to_text(number) == text


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("num.partitions", "1_0", "Not a number of type INT"),
        ("num.partitions", "0", "Value must be at least 1"),
        ("message.max.bytes", "2147483648", "Not a number of type INT"),
        ("replica.lag.time.max.ms", "9223372036854775808", "Not a number of type LONG"),
        ("auto.create.topics.enable", "on", "Expected value to be either true or false"),
        ("log.message.timestamp.type", "x", "String must be one of: CreateTime, LogAppendTime"),
    ],
)
def test_settings_of_brokers_are_read_in_the_same_way(name: str, value: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        BrokerConfig().with_text({name: value})
    assert raised.value.message == f"Invalid value {value} for configuration {name}: {problem}"


def test_what_brokers_were_told_is_known_by_its_topic_name() -> None:
    config = BrokerConfig().with_text({"message.max.bytes": " 7 ", "replica.lag.time.max.ms": "3000000000"})
    assert config.topic_entries == {"max.message.bytes": ConfigEntry("max.message.bytes", "7", 4)}
    assert config.topic_defaults.max_message_bytes == 7
    assert config.replica_lag_time_max_ms == 3_000_000_000
