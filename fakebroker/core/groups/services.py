"""The services that operations on the groups of one partition use, for each protocol.

Source   the fields that group-coordinator/.../GroupMetadataManager.java and OffsetMetadataManager.java share @ 4.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final
from uuid import UUID

from fakebroker.core.clock import HasNow
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.config.group_config_manager import GroupConfigManager
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.coordinator.executor import CoordinatorExecutor
from fakebroker.core.coordinator.timeline import SnapshotRegistry
from fakebroker.core.coordinator.timer import CoordinatorTimer
from fakebroker.core.groups.group_ids import GroupIds
from fakebroker.core.groups.groups import Groups
from fakebroker.core.probe import Probe
from fakebroker.core.purgatory.housekeeping import Housekeeping


@final
class GroupEnvironment:
    """The services of a broker's coordinator, for all its partitions. `random_uuid` draws a UUID from the cluster's
    seed. `is_paused`: the broker is paused."""

    __slots__ = (
        "broker_id", "clock", "configs", "group_configs", "group_ids", "housekeeping", "is_paused", "metadata", "probe",
        "random_uuid",
    )  # fmt: skip

    def __init__(
        self,
        broker_id: int,
        clock: HasNow,
        configs: DynamicBrokerConfig,
        group_configs: GroupConfigManager,
        group_ids: GroupIds,
        metadata: MetadataCache,
        random_uuid: Callable[[], UUID],
        probe: Probe,
        housekeeping: Housekeeping,
    ) -> None:
        self.broker_id = broker_id
        self.clock = clock
        self.configs = configs
        self.group_configs = group_configs
        self.group_ids = group_ids
        self.metadata = metadata
        self.random_uuid = random_uuid
        self.probe = probe
        self.housekeeping = housekeeping
        self.is_paused = False


@final
class GroupServices:
    """The services of the environment, and those of one partition of __consumer_offsets."""

    __slots__ = ("environment", "executor", "groups", "partition", "registry", "timer")

    def __init__(
        self,
        environment: GroupEnvironment,
        partition: int,
        registry: SnapshotRegistry,
        timer: CoordinatorTimer,
        executor: CoordinatorExecutor,
    ) -> None:
        self.environment = environment
        self.partition = partition
        self.registry = registry
        self.timer = timer
        self.executor = executor
        self.groups = Groups(registry, environment.group_ids)

    @property
    def config(self) -> BrokerConfig:
        """Return the present config of the broker."""
        return self.environment.configs.current

    @property
    def metadata(self) -> MetadataCache:
        return self.environment.metadata

    @property
    def mono_ms(self) -> int:
        return self.environment.clock.now.mono_ms

    @property
    def wall_ms(self) -> int:
        return self.environment.clock.now.wall_ms
