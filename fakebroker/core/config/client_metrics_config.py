"""The settings of a subscription to clients' metrics (KIP-714): which metrics, how often, from which clients.

Source   server/.../metrics/ClientMetricsConfigs.java @ 4.4 (read out of the released jar).
Differs  The text after `=` in `match` is a Java pattern. Here it is read as an RE2 pattern, which takes bounded time.
         So lookaround and backreferences (`(?=`, `\\1`) are refused. A pattern that would take too long for the
         attributes of a client does not match it.
Units    milliseconds, as the name says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, final

from fakebroker.core.config.config_def import INT, LIST
from fakebroker.core.config.setting import Config, Setting, UpdateMode
from fakebroker.core.errors import ConfigError, KafkaError
from fakebroker.core.re2j import Pattern, PatternError
from fakebroker.protocol.error_code import ErrorCode

ALL_METRICS: Final = "*"
_MIN_INTERVAL_MS: Final = 100
_MAX_INTERVAL_MS: Final = 3_600_000
_MATCHED = frozenset(
    f"client_{what}"
    for what in ("instance_id", "id", "software_name", "software_version", "source_address", "source_port")
)


class ClientMetricsConfig(Config):
    """The settings of a subscription, with defaults for those that are not set."""

    metrics = Setting[tuple[str, ...]](
        LIST, (), mode=UpdateMode.DYNAMIC, doc="prefixes of the metrics to push; * is all"
    )
    interval_ms = Setting(INT, 300_000, mode=UpdateMode.DYNAMIC, doc="interval at which clients push them")
    match = Setting[tuple[str, ...]](
        LIST, (), mode=UpdateMode.DYNAMIC, doc="clients of the subscription, as NAME=PATTERN (default: all)"
    )


def validate(name: str, texts: Mapping[str, str]) -> None:
    """Raise KafkaError if a subscription of that name may not have these settings."""
    if not name:
        raise KafkaError(ErrorCode.invalid_request, "Subscription name can't be empty")
    for key in texts:
        if key not in ClientMetricsConfig.SETTINGS:
            raise KafkaError(ErrorCode.invalid_request, f"Unknown client metrics configuration: {key}")
    config = ClientMetricsConfig(**ClientMetricsConfig.parse(texts))
    if not _MIN_INTERVAL_MS <= config.interval_ms <= _MAX_INTERVAL_MS:
        raise KafkaError(
            ErrorCode.invalid_request,
            f"Invalid value {config.interval_ms} for interval.ms, interval must be between {_MIN_INTERVAL_MS} and "
            f"{_MAX_INTERVAL_MS} (1 hour)",
        )
    for item in config.match:
        parse_match(item)


def parse_match(item: str) -> tuple[str, Pattern]:
    """Return the attribute of a client and the pattern for it. Raise ConfigError."""
    parts = item.split("=")
    while parts and not parts[-1]:  # as Java's String.split
        parts.pop()
    if len(parts) == 2 and (what := parts[0].strip()) in _MATCHED:
        try:
            return what, Pattern(parts[1].strip())
        except PatternError:
            pass
    raise ConfigError(f"Illegal client matching pattern: {item}")


@final
class SubscriptionInfo:
    """A subscription with compiled patterns."""

    __slots__ = ("_patterns", "interval_ms", "metrics")

    def __init__(self, config: ClientMetricsConfig) -> None:
        self.metrics = config.metrics
        self.interval_ms = config.interval_ms
        self._patterns = dict(parse_match(item) for item in config.match)

    def work(self, attributes: Mapping[str, str]) -> int:
        """Return the work of `matches`, in the unit of `Pattern.work`."""
        return sum(pattern.work(attributes[what]) for what, pattern in self._patterns.items())

    def matches(self, attributes: Mapping[str, str]) -> bool:
        """Return True if each pattern matches its whole attribute."""
        try:
            return all(pattern.matches(attributes[what]) for what, pattern in self._patterns.items())
        except PatternError:
            return False


@final
class ClientMetricsSubscriptions:
    """All subscriptions by name, with their settings as given. `version` grows with each change."""

    def __init__(self) -> None:
        self._own: dict[str, Mapping[str, str]] = {}
        self._subscriptions: dict[str, SubscriptionInfo] = {}
        self.version = 0

    def own(self, name: str) -> Mapping[str, str]:
        return self._own.get(name, {})

    def set(self, name: str, texts: Mapping[str, str]) -> None:
        """Replace the settings of a subscription, which are valid. Without settings the subscription is removed."""
        if texts:
            self._own[name] = texts
            self._subscriptions[name] = SubscriptionInfo(ClientMetricsConfig(**ClientMetricsConfig.parse(texts)))
        elif self._own.pop(name, None) is None:
            return
        else:
            del self._subscriptions[name]
        self.version += 1

    def names(self) -> list[str]:
        """Return the names, sorted."""
        return sorted(self._own)

    def all(self) -> Iterable[SubscriptionInfo]:
        return self._subscriptions.values()
