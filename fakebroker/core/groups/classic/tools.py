"""Shared parts of the operations on classic groups: the groups of a partition, timers, settings, time and randomness.

Theory   An operation returns the records to write, but changes the group at once. Which member waits for which response
         is in no record, so it cannot be replayed. The runtime therefore does not replay these records, and an
         operation that fails to be written undoes its change.
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

NOTHING: Final[Done] = CoordinatorResult((), None)  # no records; compared by identity


def write(record: CoordinatorRecord, on_complete: OnComplete) -> Done:
    """Return a result with one record of a change that has already happened."""
    return CoordinatorResult([record], None, on_complete, False)


@final
class ClassicTools:
    """Shared parts of the operations on classic groups. `random_uuid` draws a UUID from the cluster's seed."""

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
        """Return the group; None if it is missing or of another type."""
        group = self.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def new_group(self, group_id: str) -> ClassicGroup:
        """Return an empty group, which is not in `groups` yet."""
        return ClassicGroup(group_id, EMPTY, self.wall_ms)
