"""The effect of settings in each release, as a real KafkaProducer has it, and in our producer."""

from __future__ import annotations

from typing import Any

from fakebroker.producer.errors import ProducerConfigError
from fakebroker.producer.producer_config import ProducerConfig, default_settings

Json = dict[str, Any]

# Settings of one producer each: everything left alone, each number at and beyond its bounds, what goes with what.
SETTINGS: tuple[dict[str, str], ...] = (
    {},
    {"acks": "all"},
    {"acks": "ALL"},
    {"acks": "-1"},
    {"acks": "0"},
    {"acks": "1"},
    {"acks": "2"},
    {"acks": "1", "retries": "3"},
    {"enable.idempotence": "true"},
    {"enable.idempotence": "TRUE "},
    {"enable.idempotence": "yes"},
    {"enable.idempotence": "false", "acks": "all"},
    {"enable.idempotence": "true", "acks": "1"},
    {"enable.idempotence": "true", "acks": "0"},
    {"enable.idempotence": "true", "acks": "-1"},
    {"enable.idempotence": "true", "retries": "0"},
    {"enable.idempotence": "true", "retries": "1"},
    {"enable.idempotence": "true", "max.in.flight.requests.per.connection": "5"},
    {"enable.idempotence": "true", "max.in.flight.requests.per.connection": "6"},
    {"max.in.flight.requests.per.connection": "6"},
    {"max.in.flight.requests.per.connection": "6", "acks": "1"},
    {"max.in.flight.requests.per.connection": "1"},
    {"max.in.flight.requests.per.connection": "0"},
    {"retries": "0"},
    {"retries": "0", "max.in.flight.requests.per.connection": "6"},
    {"retries": "-1"},
    {"retries": "2147483647"},
    {"retries": "2147483648"},
    {"batch.size": "0"},
    {"batch.size": "-1"},
    {"batch.size": " 17 "},
    {"batch.size": "many"},
    {"buffer.memory": "0"},
    {"buffer.memory": "-1"},
    {"linger.ms": "-1"},
    {"linger.ms": "9223372036854775807"},
    {"linger.ms": "100000"},
    {"request.timeout.ms": "-1"},
    {"request.timeout.ms": "0"},
    {"request.timeout.ms": "119999"},
    {"request.timeout.ms": "120001"},
    {"request.timeout.ms": "2147483647", "linger.ms": "2147483647"},
    {"max.block.ms": "-1"},
    {"max.block.ms": "0"},
    {"max.request.size": "-1"},
    {"metadata.max.age.ms": "-1"},
    {"connections.max.idle.ms": "-1"},
    {"reconnect.backoff.ms": "70"},
    {"reconnect.backoff.ms": "7000"},
    {"reconnect.backoff.max.ms": "20"},
    {"retry.backoff.ms": "5000"},
    {"retry.backoff.ms": "-1"},
    {"compression.type": "none"},
    {"compression.type": "gzip"},
    {"compression.type": "snappy"},
    {"compression.type": "lz4"},
    {"compression.type": "zstd"},
    {"compression.type": "GZIP"},
    {"compression.type": "best"},
    {"transactional.id": "tx"},
    {"transactional.id": "tx", "acks": "1"},
    {"transactional.id": "tx", "retries": "0"},
    {"transactional.id": "tx", "enable.idempotence": "false"},
    {"transactional.id": "tx", "max.in.flight.requests.per.connection": "6"},
    {"transactional.id": ""},
    {"transaction.timeout.ms": "-1"},
    {"transaction.timeout.ms": "2147483648"},
)
SINCE_DELIVERY_TIMEOUT: tuple[dict[str, str], ...] = (
    {"delivery.timeout.ms": "30005"},
    {"delivery.timeout.ms": "30004"},
    {"delivery.timeout.ms": "-1"},
    {"delivery.timeout.ms": "100", "request.timeout.ms": "90", "linger.ms": "10"},
    {"delivery.timeout.ms": "100", "request.timeout.ms": "91", "linger.ms": "10"},
    {"retry.backoff.max.ms": "50"},
    {"partitioner.adaptive.partitioning.enable": "false", "partitioner.ignore.keys": "true"},
    {"partitioner.availability.timeout.ms": "-1"},
    {"metadata.max.idle.ms": "5000"},
    {"metadata.max.idle.ms": "4999"},
    {"metadata.recovery.strategy": "NONE"},
    {"metadata.recovery.strategy": "hope"},
    {"metadata.recovery.rebootstrap.trigger.ms": "0"},
    {"metadata.recovery.rebootstrap.trigger.ms": "-1"},
    {"socket.connection.setup.timeout.ms": "40000"},
    {"socket.connection.setup.timeout.max.ms": "-1"},
)


def settings_of(generation: str) -> tuple[dict[str, str], ...]:
    """Return the settings that are tried on a release."""
    return SETTINGS if generation == "2.0" else SETTINGS + SINCE_DELIVERY_TIMEOUT


def commands(generation: str) -> list[Json]:
    """Return the commands for the judge."""
    names = _names(generation)
    return [{"do": "configure", "settings": settings, "names": names} for settings in settings_of(generation)]


def ours(generation: str, settings: dict[str, str]) -> Json:
    """Return the effect of settings on our producer, in the judge's form."""
    try:
        config = ProducerConfig(generation, settings)
    except ProducerConfigError as error:
        return {"refused": error.kafka_name}
    values = {name: getattr(config, name.replace(".", "_")) for name in _names(generation)}
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in values.items()}


def _names(generation: str) -> list[str]:
    """All but the name that Kafka makes of a number, and one that is no text in Kafka if there is none."""
    return [name for name in default_settings(generation) if name not in ("client.id", "transactional.id")]
