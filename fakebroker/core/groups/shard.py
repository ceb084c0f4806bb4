"""The groups and offsets of one partition of __consumer_offsets, as one state machine.

Source   group-coordinator/.../GroupCoordinatorShard.java @ 4.4 (read out of the released jars).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import final

from fakebroker.core.controller.topics import Topic
from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.shard import CoordinatorShard
from fakebroker.core.groups.classic.classic_groups import ClassicGroups
from fakebroker.core.groups.consumer.consumer_groups import ConsumerGroups
from fakebroker.core.groups.manager import GroupManager, Replay
from fakebroker.core.groups.offsets.offsets import Offsets
from fakebroker.core.groups.services import GroupServices
from fakebroker.protocol.slices import Slices


@final
class GroupCoordinatorShard(CoordinatorShard):
    """A shard that hands each record to the manager of its kind."""

    def __init__(self, services: GroupServices) -> None:
        self.services = services
        self.groups = services.groups
        self.classic = ClassicGroups(services)
        self.consumer_groups = ConsumerGroups(services, self.classic)
        self.offsets = Offsets(services, self.classic.on_offset_commit)
        self._managers: list[GroupManager] = [self.classic, self.consumer_groups, self.offsets]
        self._replayers: dict[type, Replay] = {}
        for manager in self._managers:
            self._replayers.update(manager.replayers())

    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        self._replayers[type(record.key)](record.key, record.value, producer_id)

    def replay_end_transaction_marker(self, producer_id: int, producer_epoch: int, is_commit: bool) -> Slices[None]:
        yield from self.offsets.replay_end_transaction_marker(producer_id, producer_epoch, is_commit)

    def on_loaded(self) -> None:
        for manager in self._managers:
            manager.on_loaded()

    def on_unloaded(self) -> None:
        for manager in self._managers:
            manager.on_unloaded()

    def on_topics_changed(self, changed: Collection[str], deleted: Collection[Topic]) -> None:
        for manager in self._managers:
            manager.on_topics_changed(changed, deleted)
