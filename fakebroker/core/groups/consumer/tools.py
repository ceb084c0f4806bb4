"""Shared parts of the operations on consumer groups: groups of a partition, timers, settings, time, topics.

Theory   An operation returns the records to write, and changes nothing but timers. The replay of the records changes
         the group.
Units    milliseconds.
Source   group-coordinator/.../GroupMetadataManager.java; .../GroupCoordinatorConfig.java; .../GroupConfig.java @ 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, final

from fakebroker.core.coordinator.timeline import LATEST
from fakebroker.core.groups.consumer.assignors.assignor import Assignor
from fakebroker.core.groups.consumer.assignors.range import assign_ranges
from fakebroker.core.groups.consumer.assignors.uniform import assign_uniformly
from fakebroker.core.groups.consumer.state.group import ConsumerGroup
from fakebroker.core.groups.consumer.state.topics import Topics
from fakebroker.core.groups.services import GroupServices

ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": assign_uniformly, "range": assign_ranges}


class ConsumerGroupConfig(NamedTuple):
    """The options of one group: its own, or the broker's defaults."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int


class MigrationPolicy(NamedTuple):
    """A value of group.consumer.migration.policy: the directions in which groups with members may be converted."""

    is_upgrade_enabled: bool
    is_downgrade_enabled: bool


MIGRATION_POLICIES: Final = {
    "disabled": MigrationPolicy(False, False),
    "downgrade": MigrationPolicy(False, True),
    "upgrade": MigrationPolicy(True, False),
    "bidirectional": MigrationPolicy(True, True),
}


@final
class ConsumerTools:
    """Shared parts of the operations on the consumer groups of one partition. `random_uuid` draws a UUID from the
    cluster's seed."""

    __slots__ = ("_services", "executor", "groups", "probe", "random_uuid", "registry", "timer", "topics")

    def __init__(
        self,
        services: GroupServices,
        topics: Topics,
    ) -> None:
        self.groups = services.groups
        self.registry = services.registry
        self.timer = services.timer
        self.executor = services.executor
        self.topics = topics
        self.random_uuid = services.environment.random_uuid
        self.probe = services.environment.probe
        self._services = services

    @property
    def wall_ms(self) -> int:
        return self._services.wall_ms

    # Groups.

    def new_group(self, group_id: str) -> ConsumerGroup:
        """Return a group without records, which lookups do not find yet."""
        return ConsumerGroup(self.registry, group_id, self.topics)

    def consumer_group(self, group_id: str, committed_offset: int = LATEST) -> ConsumerGroup:
        """Return the group. Raises GROUP_ID_NOT_FOUND."""
        return self.groups.group_of(ConsumerGroup, group_id, committed_offset)

    # Settings.

    def config_of(self, group_id: str) -> ConsumerGroupConfig:
        groups = self._services.environment.group_configs
        if not groups.own(group_id):
            current = self._services.config
            return ConsumerGroupConfig(
                current.group_consumer_session_timeout_ms,
                current.group_consumer_heartbeat_interval_ms,
                current.group_consumer_assignment_interval_ms,
            )
        config = groups.of(group_id)
        return ConsumerGroupConfig(
            config.consumer_session_timeout_ms,
            config.consumer_heartbeat_interval_ms,
            config.consumer_assignment_interval_ms,
        )

    @property
    def max_size(self) -> int:
        return self._services.config.group_consumer_max_size

    @property
    def classic_max_size(self) -> int:
        return self._services.config.group_max_size

    @property
    def assignors(self) -> tuple[str, ...]:
        """Return the assignors that members may choose; the first is the default."""
        return tuple(self._services.config.group_consumer_assignors)

    @property
    def default_assignor(self) -> str:
        return self.assignors[0]

    @property
    def regex_refresh_interval_ms(self) -> int:
        return self._services.config.group_consumer_regex_refresh_interval_ms

    @property
    def migration(self) -> MigrationPolicy:
        return MIGRATION_POLICIES[self._services.config.group_consumer_migration_policy.lower()]
