"""The settings of a group: all that Kafka knows, with its types, bounds and defaults.

Theory   A group's own settings are kept as text; the others come from the brokers, from the setting `broker`. A value
         must lie within the brokers' bounds when it is set. If a restart with other settings narrows the bounds later,
         the nearest value within them counts (`effective`). A setting without `by` is checked, kept and reported,
         without effect here.
Source   group-coordinator/.../group/GroupConfig.java @ 4.4 (read out of the released jar), its evaluate;
         group/modern/share/ShareGroupAutoOffsetResetStrategy.java.
Units    milliseconds, as the names say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.config_def import (
    BOOLEAN,
    INT,
    LIST,
    LONG,
    STRING,
    Type,
    Validator,
    Value,
    at_least,
    invalid,
    one_of,
    some_of,
)
from fakebroker.core.config.setting import Config, Setting, UpdateMode

T = TypeVar("T")

_DURATION = re.compile(r"\+?P(?=.)(?:\d+D)?(?:T(?=.)(?:\d+H)?(?:\d+M)?(?:\d+(?:[.,]\d{0,9})?S)?)?", re.IGNORECASE)
_BY_DURATION = "by_duration:"


def offset_reset(name: str, value: Value) -> None:
    """Check the value as ShareGroupAutoOffsetResetStrategy.Validator does."""
    text = str(value)
    duration = text.removeprefix(_BY_DURATION)
    if text not in ("earliest", "latest") and (duration == text or not _DURATION.fullmatch(duration)):
        raise invalid(
            name,
            value,
            f"Invalid value `{value}` for configuration {name}. The value must be either 'earliest', 'latest' or of "
            "the format 'by_duration:<PnDTnHnMn.nS>'.",
        )


class GroupSetting(Setting[T]):
    """A setting of a group.

    broker       the setting of the brokers that is its default
    lowest, highest
                 the settings of the brokers that are its bounds, if there are any
    is_internal  it is described only for a group that sets it
    """

    __slots__ = ("broker", "highest", "is_internal", "lowest")
    usual_mode = UpdateMode.DYNAMIC

    def __init__(
        self,
        type_: Type,
        default: T,
        validator: Validator | None = None,
        *,
        doc: str,
        by: str | None = None,
        broker: Setting[Any] | None = None,
        lowest: Setting[Any] | None = None,
        highest: Setting[Any] | None = None,
        is_internal: bool = False,
    ) -> None:
        super().__init__(type_, default, validator, doc=doc, by=by)
        self.broker = broker
        self.lowest = lowest
        self.highest = highest
        self.is_internal = is_internal


_B = BrokerConfig


class GroupConfig(Config):
    """The settings of a group, in Kafka's order of definition."""

    consumer_session_timeout_ms = GroupSetting(
        INT,
        45_000,
        at_least(1),
        broker=_B.group_consumer_session_timeout_ms,
        lowest=_B.group_consumer_min_session_timeout_ms,
        highest=_B.group_consumer_max_session_timeout_ms,
        by="core/groups/consumer/tools",
        doc="time without a heartbeat after which a member of the consumer group is removed",
    )
    consumer_heartbeat_interval_ms = GroupSetting(
        INT,
        5000,
        at_least(1),
        broker=_B.group_consumer_heartbeat_interval_ms,
        lowest=_B.group_consumer_min_heartbeat_interval_ms,
        highest=_B.group_consumer_max_heartbeat_interval_ms,
        by="core/groups/consumer/tools",
        doc="heartbeat interval of members of the consumer group",
    )
    consumer_assignment_interval_ms = GroupSetting(
        INT,
        1000,
        at_least(0),
        broker=_B.group_consumer_assignment_interval_ms,
        lowest=_B.group_consumer_min_assignment_interval_ms,
        highest=_B.group_consumer_max_assignment_interval_ms,
        by="core/groups/consumer/tools",
        doc="shortest time between two assignments of the consumer group",
    )
    consumer_assignor_offload_enable = GroupSetting(
        BOOLEAN,
        True,
        broker=_B.group_consumer_assignor_offload_enable,
        is_internal=True,
        doc="whether background threads compute assignments of the consumer group",
    )
    share_session_timeout_ms = GroupSetting(
        INT,
        45_000,
        at_least(1),
        broker=_B.group_share_session_timeout_ms,
        lowest=_B.group_share_min_session_timeout_ms,
        highest=_B.group_share_max_session_timeout_ms,
        doc="time without a heartbeat after which a member of the share group is removed",
    )
    share_heartbeat_interval_ms = GroupSetting(
        INT,
        5000,
        at_least(1),
        broker=_B.group_share_heartbeat_interval_ms,
        lowest=_B.group_share_min_heartbeat_interval_ms,
        highest=_B.group_share_max_heartbeat_interval_ms,
        doc="heartbeat interval of members of the share group",
    )
    share_record_lock_duration_ms = GroupSetting(
        INT,
        30_000,
        at_least(1000),
        broker=_B.group_share_record_lock_duration_ms,
        lowest=_B.group_share_min_record_lock_duration_ms,
        highest=_B.group_share_max_record_lock_duration_ms,
        doc="time for which a delivered record is locked",
    )
    share_delivery_count_limit = GroupSetting(
        INT,
        5,
        at_least(2),
        broker=_B.group_share_delivery_count_limit,
        lowest=_B.group_share_min_delivery_count_limit,
        highest=_B.group_share_max_delivery_count_limit,
        doc="deliveries of a record until it is given up",
    )
    share_partition_max_record_locks = GroupSetting(
        INT,
        2000,
        at_least(100),
        broker=_B.group_share_partition_max_record_locks,
        lowest=_B.group_share_min_partition_max_record_locks,
        highest=_B.group_share_max_partition_max_record_locks,
        doc="most records of a partition that are locked at the same time",
    )
    share_auto_offset_reset = GroupSetting(
        STRING, "latest", offset_reset, doc="start of a share group: earliest, latest or by_duration:PT1H"
    )
    share_isolation_level = GroupSetting(
        STRING,
        "read_uncommitted",
        one_of("read_committed", "read_uncommitted"),
        doc="whether a share group reads uncommitted records",
    )
    share_renew_acknowledge_enable = GroupSetting(BOOLEAN, True, doc="whether the lock of a record can be renewed")
    share_assignment_interval_ms = GroupSetting(
        INT,
        1000,
        at_least(0),
        broker=_B.group_share_assignment_interval_ms,
        lowest=_B.group_share_min_assignment_interval_ms,
        highest=_B.group_share_max_assignment_interval_ms,
        doc="shortest time between two assignments of the share group",
    )
    share_assignor_offload_enable = GroupSetting(
        BOOLEAN,
        True,
        broker=_B.group_share_assignor_offload_enable,
        is_internal=True,
        doc="whether background threads compute assignments of the share group",
    )
    streams_session_timeout_ms = GroupSetting(
        INT,
        45_000,
        at_least(1),
        broker=_B.group_streams_session_timeout_ms,
        lowest=_B.group_streams_min_session_timeout_ms,
        highest=_B.group_streams_max_session_timeout_ms,
        doc="time without a heartbeat after which a member of the streams group is removed",
    )
    streams_heartbeat_interval_ms = GroupSetting(
        INT,
        5000,
        at_least(1),
        broker=_B.group_streams_heartbeat_interval_ms,
        lowest=_B.group_streams_min_heartbeat_interval_ms,
        highest=_B.group_streams_max_heartbeat_interval_ms,
        doc="heartbeat interval of members of the streams group",
    )
    streams_num_standby_replicas = GroupSetting(
        INT,
        0,
        at_least(0),
        broker=_B.group_streams_num_standby_replicas,
        highest=_B.group_streams_max_standby_replicas,
        doc="standby replicas of each task",
    )
    streams_initial_rebalance_delay_ms = GroupSetting(
        INT,
        3000,
        at_least(0),
        broker=_B.group_streams_initial_rebalance_delay_ms,
        doc="time for which an empty streams group waits for more members",
    )
    streams_assignment_interval_ms = GroupSetting(
        INT,
        1000,
        at_least(0),
        broker=_B.group_streams_assignment_interval_ms,
        lowest=_B.group_streams_min_assignment_interval_ms,
        highest=_B.group_streams_max_assignment_interval_ms,
        doc="shortest time between two assignments of the streams group",
    )
    streams_assignor_offload_enable = GroupSetting(
        BOOLEAN,
        True,
        broker=_B.group_streams_assignor_offload_enable,
        is_internal=True,
        doc="whether background threads compute assignments of the streams group",
    )
    streams_task_offset_interval_ms = GroupSetting(
        INT,
        60_000,
        at_least(1),
        broker=_B.group_streams_task_offset_interval_ms,
        lowest=_B.group_streams_min_task_offset_interval_ms,
        is_internal=True,
        doc="interval at which members report the offsets of their tasks",
    )
    streams_num_warmup_replicas = GroupSetting(
        INT,
        2,
        at_least(0),
        broker=_B.group_streams_num_warmup_replicas,
        highest=_B.group_streams_max_warmup_replicas,
        is_internal=True,
        doc="warm-up replicas of the group at the same time",
    )
    streams_rack_aware_assignment_tags = GroupSetting[tuple[str, ...]](
        LIST,
        (),
        some_of(may_be_empty=True),
        broker=_B.group_streams_rack_aware_assignment_tags,
        doc="client tags by which standby replicas are distributed",
    )
    streams_acceptable_recovery_lag = GroupSetting(
        LONG,
        10_000,
        at_least(0),
        broker=_B.group_streams_acceptable_recovery_lag,
        is_internal=True,
        doc="most missing records of a replica that counts as caught up",
    )
    streams_assignor_name = GroupSetting[str | None](
        STRING, None, broker=_B.group_streams_assignors, doc="task assignor (default: the brokers' first one)"
    )
    errors_deadletterqueue_topic_name = GroupSetting(STRING, "", doc="topic for records that a share group gave up")
    errors_deadletterqueue_copy_record_enable = GroupSetting(
        BOOLEAN, False, doc="whether the record itself is written to the dead letter topic"
    )

    @classmethod
    def of(cls, texts: Mapping[str, str], brokers: BrokerConfig) -> GroupConfig:
        """Return the settings of a group with these texts of its own, which are valid."""
        inherited = {key.attribute: _of_brokers(key, brokers) for key in settings().values() if key.broker is not None}
        return GroupConfig(**{**inherited, **cls.parse(texts)})

    def effective(self, brokers: BrokerConfig) -> GroupConfig:
        """Return these settings within the present bounds of the brokers."""
        values = dict(self.given)
        for key in settings().values():
            value = values.get(key.attribute)
            if isinstance(value, int):
                lowest, highest = bounds(key, brokers)
                if lowest is not None and value < lowest:
                    values[key.attribute] = lowest
                elif highest is not None and value > highest:
                    values[key.attribute] = highest
        return GroupConfig(**values)


def _of_brokers(key: GroupSetting[Any], brokers: BrokerConfig) -> Value:
    assert key.broker is not None
    value: Value = vars(brokers)[key.broker.attribute]
    # The default is the first of the brokers' assignors.
    return value[0] if key.broker.type is LIST and key.type is STRING and isinstance(value, tuple) else value


def bounds(key: GroupSetting[Any], brokers: BrokerConfig) -> tuple[int | None, int | None]:
    lowest, highest = (None if bound is None else vars(brokers)[bound.attribute] for bound in (key.lowest, key.highest))
    return lowest, highest


def settings() -> dict[str, GroupSetting[Any]]:
    return cast(dict[str, GroupSetting[Any]], GroupConfig.SETTINGS)
