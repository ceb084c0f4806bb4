"""The validation of a group's own settings.

Source   group-coordinator/.../group/GroupConfig.java @ 4.4 (read out of the released jar): validate, validateValues.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.group_config import GroupConfig, GroupSetting, bounds, settings
from fakebroker.core.errors import ConfigError

_TAGS = "streams.rack.aware.assignment.tags"


def validate(texts: Mapping[str, str], brokers: BrokerConfig) -> None:
    """Raise ConfigError if a group may not have these settings (GroupConfig.validate)."""
    for name in texts:
        if name not in GroupConfig.SETTINGS:
            raise ConfigError(f"Unknown group config name: {name}")
    if _TAGS in texts and len(tags := texts[_TAGS].strip().split(",")) != len({tag.strip() for tag in tags}):
        raise ConfigError(f"{_TAGS} must not contain duplicate tag keys.")
    given = GroupConfig.parse(texts)
    for name in _ORDER_OF_BOUNDS:
        key = settings()[name]
        if key.attribute in given:
            _check_bounds(key, cast(int, given[key.attribute]), brokers)
    assignor = given.get("streams_assignor_name")
    if assignor is not None and assignor not in brokers.group_streams_assignors:
        raise ConfigError(
            f"streams.assignor.name '{assignor}' is not a registered task assignor. "
            f"Registered assignors are: [{', '.join(brokers.group_streams_assignors)}]."
        )
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if session in texts or heartbeat in texts:
            group = GroupConfig.of(texts, brokers)
            if _value(group, session) <= _value(group, heartbeat):
                raise ConfigError(f"{session} must be greater than {heartbeat}")
    if str(given.get("errors_deadletterqueue_topic_name", "")).startswith("__"):
        raise ConfigError("errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'")


# The order in which they are compared with the brokers' bounds.
_ORDER_OF_BOUNDS = (
    "consumer.heartbeat.interval.ms",
    "consumer.session.timeout.ms",
    "consumer.assignment.interval.ms",
    "share.heartbeat.interval.ms",
    "share.session.timeout.ms",
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
    "share.assignment.interval.ms",
    "streams.heartbeat.interval.ms",
    "streams.session.timeout.ms",
    "streams.num.standby.replicas",
    "streams.assignment.interval.ms",
    "streams.task.offset.interval.ms",
    "streams.num.warmup.replicas",
)


def _check_bounds(key: GroupSetting[Any], value: int, brokers: BrokerConfig) -> None:
    lowest, highest = bounds(key, brokers)
    if lowest is not None and highest is not None:
        if not lowest <= value <= highest:
            raise ConfigError(f"{key.name} must be in the range {lowest} to {highest} inclusive.")
    elif highest is not None and value > highest:
        raise ConfigError(f"{key.name} must be less than or equal to {highest}")
    elif lowest is not None and value < lowest:
        raise ConfigError(f"{key.name} must be greater than or equal to {lowest}")


def _value(group: GroupConfig, name: str) -> int:
    return int(vars(group)[name.replace(".", "_")])
