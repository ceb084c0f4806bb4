"""What the operations on classic groups have in common: the groups of a partition, its timers, settings, time, chance.

Theory   An operation says which records it wants written, but the group itself is changed at once: what is not in any
         record (who waits for whom) cannot be replayed. So the runtime is asked not to replay, and an operation that
         could not be written takes back what it did.
Source   group-coordinator/.../GroupMetadataManager.java @ 4.2.
"""

from __future__ import annotations

from typing import Final, final

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult, OnComplete
from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.core.groups.classic.states import EMPTY
from fakebroker.core.groups.services import GroupServices

Done = CoordinatorResult[None]

NOTHING: Final[Done] = CoordinatorResult((), None)  # no records; known by its identity


def write(record: CoordinatorRecord, on_complete: OnComplete) -> Done:
    """One record, of what has happened already."""
    return CoordinatorResult([record], None, on_complete, False)


@final
class ClassicTools:
    """`random_uuid` draws one from the cluster's seed."""

    __slots__ = ("_services", "groups", "probe", "random_uuid", "timer")

    def __init__(self, services: GroupServices) -> None:
        self.groups = services.groups
        self.timer = services.timer
        self.random_uuid = services.environment.random_uuid
        self.probe = services.environment.probe
        self._services = services

    @property
    def wall_ms(self) -> int:
        return self._services.wall_ms

    @property
    def max_size(self) -> int:
        return self._services.config.group_max_size

    @property
    def initial_rebalance_delay_ms(self) -> int:
        return self._services.config.group_initial_rebalance_delay_ms

    def classic_group(self, group_id: str) -> ClassicGroup | None:
        """None also for a group of another type."""
        group = self.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def new_group(self, group_id: str) -> ClassicGroup:
        """An empty one, which is not among the groups yet."""
        return ClassicGroup(group_id, EMPTY, self.wall_ms)
