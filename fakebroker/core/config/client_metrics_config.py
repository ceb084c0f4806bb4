"""The settings of a subscription to clients' metrics (KIP-714): which metrics, how often, of whom.

Source   server/.../metrics/ClientMetricsConfigs.java @ 4.4 (read out of the released jar).
Differs  What stands behind `=` in `match` is a pattern of Java; here it is read as one of Python, which has nearly the
         same.
Units    milliseconds, as the name says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, final

from fakebroker.core.config.config_def import INT, LIST
from fakebroker.core.config.setting import Config, Setting, UpdateMode
from fakebroker.core.errors import ConfigError, KafkaError
from fakebroker.protocol.error_code import ErrorCode

_MIN_INTERVAL_MS: Final = 100
_MAX_INTERVAL_MS: Final = 3_600_000
_MATCHED = frozenset(
    f"client_{what}"
    for what in ("instance_id", "id", "software_name", "software_version", "source_address", "source_port")
)


class ClientMetricsConfig(Config):
    """What is not set of a subscription has its default."""

    metrics = Setting[tuple[str, ...]](
        LIST, (), mode=UpdateMode.DYNAMIC, doc="what the names of metrics begin with; * is all of them"
    )
    interval_ms = Setting(INT, 300_000, mode=UpdateMode.DYNAMIC, doc="how often a client is to push them")
    match = Setting[tuple[str, ...]](
        LIST, (), mode=UpdateMode.DYNAMIC, doc="which clients, as NAME=PATTERN; all if there are none"
    )


def validate(name: str, texts: Mapping[str, str]) -> None:
    """Raise KafkaError if a subscription of that name may not set these."""
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


def parse_match(item: str) -> tuple[str, re.Pattern[str]]:
    """What of a client is held against which pattern; raises ConfigError."""
    parts = item.split("=")
    while parts and not parts[-1]:  # as Java's String.split
        parts.pop()
    if len(parts) == 2 and (what := parts[0].strip()) in _MATCHED:
        try:
            return what, re.compile(parts[1].strip())
        except re.error:
            pass
    raise ConfigError(f"Illegal client matching pattern: {item}")


@final
class ClientMetricsSubscriptions:
    """All of them, by name: what each sets, as it was given."""

    def __init__(self) -> None:
        self._own: dict[str, Mapping[str, str]] = {}

    def own(self, name: str) -> Mapping[str, str]:
        return self._own.get(name, {})

    def set(self, name: str, texts: Mapping[str, str]) -> None:
        """From now on the subscription sets these, which are checked, and nothing else; without any it is gone."""
        if texts:
            self._own[name] = texts
        else:
            self._own.pop(name, None)

    def names(self) -> list[str]:
        """Sorted."""
        return sorted(self._own)
