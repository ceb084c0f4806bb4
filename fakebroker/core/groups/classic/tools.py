"""What the operations on classic groups have in common: the groups of a partition, its timers, settings, time, chance.

Theory   An operation says which records it wants written, but the group itself is changed at once: what is not in any
         record (who waits for whom) cannot be replayed. So the runtime is asked not to replay, and an operation that
         could not be written takes back what it did.
Source   group-coordinator/.../GroupMetadataManager.java @ 4.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final
from uuid import UUID

from fakebroker.core.clock import HasNow
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult, OnComplete
from fakebroker.core.coordinator.timeline import TimelineDict
from fakebroker.core.coordinator.timer import CoordinatorTimer
from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.core.groups.classic.states import EMPTY
from fakebroker.core.groups.group import Group
from fakebroker.core.probe import Probe

Done = CoordinatorResult[None]

NOTHING: Final[Done] = CoordinatorResult((), None)  # no records; known by its identity


def write(record: CoordinatorRecord, on_complete: OnComplete) -> Done:
    """One record, of what has happened already."""
    return CoordinatorResult([record], None, on_complete, False)


@final
class ClassicTools:
    """`random_uuid` draws one from the cluster's seed."""

    __slots__ = ("_clock", "_config", "groups", "probe", "random_uuid", "timer")

    def __init__(
        self,
        groups: TimelineDict[str, Group],
        timer: CoordinatorTimer,
        config: DynamicBrokerConfig,
        clock: HasNow,
        random_uuid: Callable[[], UUID],
        probe: Probe,
    ) -> None:
        self.groups = groups
        self.timer = timer
        self.random_uuid = random_uuid
        self.probe = probe
        self._config = config
        self._clock = clock

    @property
    def wall_ms(self) -> int:
        return self._clock.now.wall_ms

    @property
    def max_size(self) -> int:
        return self._config.current.group_max_size

    @property
    def initial_rebalance_delay_ms(self) -> int:
        return self._config.current.group_initial_rebalance_delay_ms

    def classic_group(self, group_id: str) -> ClassicGroup | None:
        """None also for a group of another type."""
        group = self.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def new_group(self, group_id: str) -> ClassicGroup:
        group = self.groups[group_id] = ClassicGroup(group_id, EMPTY, self.wall_ms)
        return group
