"""The settings of a producer: Kafka's names, the defaults of the release, and the rules between settings.

Theory   A setting is read as an attribute, with underscores for dots. Numbers have Kafka's limits. A generation has the
         settings of its release.
Units    in the names: `_ms` milliseconds; sizes are bytes.
Errors   ProducerConfigError, in one sentence that names the setting.
Source   clients/.../producer/{ProducerConfig,KafkaProducer}.java of 2.0 and 4.3; KIP-91, KIP-679 (acks=all and
         idempotence, 3.0), KIP-1030 (linger.ms 5, 4.0); conformance/producer asks both releases for their defaults.
Differs  An unknown setting is refused; Kafka only logs it. Without client.id a producer has none; Kafka 4.3 generates
         one from a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from fakebroker.producer.compression.batch_compression import CODECS
from fakebroker.producer.errors import ProducerConfigError, UnknownCompressionError
from fakebroker.producer.generation import Generation

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1
_ACKS: Final = {"all": -1, "-1": -1, "0": 0, "1": 1}
_MOST_IN_FLIGHT: Final = 5  # limit of an idempotent producer
_RECOVERY_STRATEGIES: Final = ("none", "rebootstrap")


class _Setting(NamedTuple):
    """A setting. `defaults` are (first release, value) pairs, oldest first. A number is from `least` to `most`."""

    name: str
    defaults: tuple[tuple[str, Any], ...]
    least: int = 0
    most: int = LONG_MAX


_SETTINGS: Final = (
    _Setting("acks", (("2.0", "1"), ("3.0", "all"))),
    _Setting("batch.size", (("2.0", 16_384),), 0, INT_MAX),
    _Setting("buffer.memory", (("2.0", 33_554_432),)),
    _Setting("client.id", (("2.0", ""),)),
    _Setting("compression.type", (("2.0", "none"),)),
    _Setting("connections.max.idle.ms", (("2.0", 540_000),), -LONG_MAX - 1),
    _Setting("delivery.timeout.ms", (("2.1", 120_000),), 0, INT_MAX),
    _Setting("enable.idempotence", (("2.0", False), ("3.0", True))),
    _Setting("linger.ms", (("2.0", 0), ("4.0", 5))),
    _Setting("max.block.ms", (("2.0", 60_000),)),
    _Setting("max.in.flight.requests.per.connection", (("2.0", 5),), 1, INT_MAX),
    _Setting("max.request.size", (("2.0", 1_048_576),), 0, INT_MAX),
    _Setting("metadata.cluster.check.enable", (("4.4", True),)),
    _Setting("metadata.max.age.ms", (("2.0", 300_000),)),
    _Setting("metadata.max.idle.ms", (("2.5", 300_000),), 5_000),
    _Setting("metadata.recovery.rebootstrap.trigger.ms", (("4.0", 300_000),)),
    _Setting("metadata.recovery.strategy", (("3.8", "none"), ("4.0", "rebootstrap"))),
    _Setting("partitioner.adaptive.partitioning.enable", (("3.3", True),)),
    _Setting("partitioner.availability.timeout.ms", (("3.3", 0),)),
    _Setting("partitioner.ignore.keys", (("3.3", False),)),
    _Setting("reconnect.backoff.max.ms", (("2.0", 1_000),)),
    _Setting("reconnect.backoff.ms", (("2.0", 50),)),
    _Setting("request.timeout.ms", (("2.0", 30_000),), 0, INT_MAX),
    _Setting("retries", (("2.0", 0), ("2.1", INT_MAX)), 0, INT_MAX),
    _Setting("retry.backoff.max.ms", (("3.7", 1_000),)),
    _Setting("retry.backoff.ms", (("2.0", 100),)),
    _Setting("socket.connection.setup.timeout.max.ms", (("2.7", 30_000),), -LONG_MAX - 1),
    _Setting("socket.connection.setup.timeout.ms", (("2.7", 10_000),), -LONG_MAX - 1),
    _Setting("transaction.timeout.ms", (("2.0", 60_000),), -INT_MAX - 1, INT_MAX),
    _Setting("transactional.id", (("2.0", ""),)),
)


class ProducerConfig:
    """The checked settings of a producer. `settings` has Kafka's names, and numbers, bools or text as values."""

    acks: int
    batch_size: int
    buffer_memory: int
    client_id: str
    compression_type: str
    connections_max_idle_ms: int
    delivery_timeout_ms: int
    enable_idempotence: bool
    linger_ms: int
    max_block_ms: int
    max_in_flight_requests_per_connection: int
    max_request_size: int
    metadata_cluster_check_enable: bool
    metadata_max_age_ms: int
    metadata_max_idle_ms: int
    metadata_recovery_rebootstrap_trigger_ms: int
    metadata_recovery_strategy: str
    partitioner_adaptive_partitioning_enable: bool
    partitioner_availability_timeout_ms: int
    partitioner_ignore_keys: bool
    reconnect_backoff_max_ms: int
    reconnect_backoff_ms: int
    request_timeout_ms: int
    retries: int
    retry_backoff_max_ms: int
    retry_backoff_ms: int
    socket_connection_setup_timeout_max_ms: int
    socket_connection_setup_timeout_ms: int
    transaction_timeout_ms: int
    transactional_id: str

    def __init__(self, generation: str, settings: Mapping[str, object] | None = None) -> None:
        self.generation = Generation(generation)
        given = dict(settings or {})
        for name in given:
            if name not in _BY_NAME:
                raise ProducerConfigError(f"{name} is no setting of a producer here: there are {', '.join(_BY_NAME)}.")
            if self._default(_BY_NAME[name]) is None:
                raise ProducerConfigError(
                    f"{name} is not there in {self.generation.name}: it came with {_BY_NAME[name].defaults[0][0]}."
                )
        for setting in _SETTINGS:
            default = self._default(setting)
            value = setting.defaults[0][1] if default is None else default
            if setting.name in given:
                value = _parsed(setting, given[setting.name])
            setattr(self, setting.name.replace(".", "_"), _parsed_acks(value) if setting.name == "acks" else value)
        self._check_compression()
        if self.metadata_recovery_strategy.lower() not in _RECOVERY_STRATEGIES:
            raise ProducerConfigError(
                f"metadata.recovery.strategy={self.metadata_recovery_strategy} must be none or rebootstrap."
            )
        self._check_idempotence(given)
        if "reconnect.backoff.ms" in given and "reconnect.backoff.max.ms" not in given:
            self.reconnect_backoff_max_ms = self.reconnect_backoff_ms  # no growth in this case
        if self.generation.has_delivery_timeout:
            self._fit_delivery_timeout("delivery.timeout.ms" in given)
        if not self.generation.has_exponential_backoff:
            self.retry_backoff_max_ms = self.retry_backoff_ms

    def _default(self, setting: _Setting) -> Any:
        """Return the default of this release, None if the release does not have the setting."""
        default = None
        for since, value in setting.defaults:
            if self.generation >= Generation(since):
                default = value
        return default

    def _fit_delivery_timeout(self, is_given: bool) -> None:
        """Check that a batch can linger and get one response within the delivery timeout (KIP-91), or extend the
        timeout."""
        self.linger_ms = min(self.linger_ms, INT_MAX)
        least = min(self.linger_ms + self.request_timeout_ms, INT_MAX)
        if self.delivery_timeout_ms < least:
            if is_given:
                raise ProducerConfigError(
                    f"delivery.timeout.ms={self.delivery_timeout_ms} is too short: it must be at least linger.ms + "
                    f"request.timeout.ms, {least}."
                )
            self.delivery_timeout_ms = least

    def _check_compression(self) -> None:
        codecs = list(CODECS) if self.generation.has_delivery_timeout else [name for name in CODECS if name != "zstd"]
        if self.compression_type not in codecs:
            text = f"compression.type={self.compression_type} must be one of {', '.join(codecs)}."
            raise ProducerConfigError(text) if self.generation.has_delivery_timeout else UnknownCompressionError(text)

    def _check_idempotence(self, given: Mapping[str, object]) -> None:
        """Check idempotence. If the user has set it, the other settings must fit. A mere default (3.0) is switched off
        by acks, by retries, and before 4.0 by too many requests in flight."""
        is_transactional = "transactional.id" in given
        if is_transactional and not self.transactional_id:
            raise ProducerConfigError("transactional.id must not be empty.")
        if is_transactional and "enable.idempotence" not in given:
            self.enable_idempotence = True  # 2.0 needs this; later it is the default
        if not self.enable_idempotence:
            if is_transactional:
                raise ProducerConfigError("transactional.id needs enable.idempotence=true.")
            return
        is_wanted = "enable.idempotence" in given or is_transactional
        if self.generation < Generation("3.0"):  # 2.x sets what idempotence needs if it was not given
            if "acks" not in given:
                self.acks = -1
            if "retries" not in given:
                self.retries = INT_MAX
        has_many_in_flight = self.max_in_flight_requests_per_connection > _MOST_IN_FLIGHT
        if has_many_in_flight and (is_wanted or self.generation >= Generation("4.0")):
            raise ProducerConfigError(
                f"enable.idempotence needs max.in.flight.requests.per.connection of at most {_MOST_IN_FLIGHT}, and it "
                f"is {self.max_in_flight_requests_per_connection}."
            )
        if is_wanted and self.acks != -1:
            raise ProducerConfigError(
                "enable.idempotence needs acks=all: otherwise a record may be lost, and tried again."
            )
        if is_wanted and self.retries == 0:
            raise ProducerConfigError("enable.idempotence needs retries above 0.")
        self.enable_idempotence = not has_many_in_flight and self.acks == -1 and self.retries > 0


_BY_NAME: Final = {setting.name: setting for setting in _SETTINGS}


def default_settings(generation: str) -> dict[str, object]:
    """Return all settings of a release with their defaults, by Kafka's names."""
    config = ProducerConfig(generation)
    defaults = {setting.name: config._default(setting) for setting in _SETTINGS}
    return {name: value for name, value in defaults.items() if value is not None}


def _parsed(setting: _Setting, value: object) -> Any:
    default = setting.defaults[0][1]
    if isinstance(default, str):
        return str(value).strip()
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
        if str(value).strip().lower() in ("true", "false"):
            return str(value).strip().lower() == "true"
        raise ProducerConfigError(f"{setting.name}={value} must be true or false.")
    try:
        number = value if isinstance(value, int) and not isinstance(value, bool) else int(str(value).strip())
    except ValueError:
        raise ProducerConfigError(f"{setting.name}={value} must be a whole number.") from None
    if not setting.least <= number <= setting.most:
        raise ProducerConfigError(f"{setting.name}={number} must be from {setting.least} to {setting.most}.")
    return number


def _parsed_acks(value: object) -> int:
    acks = _ACKS.get(str(value))
    if acks is None:
        raise ProducerConfigError(f"acks={value} must be all, -1, 0 or 1.")
    return acks
