"""The groups of one partition of __consumer_offsets, by id.

Theory   Lookups take an epoch: the committed offset, or LATEST. The parts of a group are in the folder of its type.
Source   group-coordinator/.../GroupMetadataManager.java group, groupIds, removeGroup, listGroups @ 4.4 (read out of the
         released jars).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar, final

from fakebroker.core.coordinator.timeline import LATEST, SnapshotRegistry, TimelineDict
from fakebroker.core.groups.group import Group, GroupType, ListedGroup
from fakebroker.core.groups.group_ids import GroupIds
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

G = TypeVar("G", bound=Group)


def group_id_not_found(message: str) -> KafkaError:
    return KafkaError(ErrorCode.group_id_not_found, message)


def _no_classic_groups(group_id: str) -> Group:
    raise NotImplementedError(group_id)


@final
class Groups(TimelineDict[str, Group]):
    """The groups of one partition. `ids` are the ids of all partitions of all brokers.

    `new_classic_group` makes an empty group, which is not in `groups` yet; ClassicGroups sets it. `on_added` is called
    when a group is added or replaced."""

    def __init__(self, registry: SnapshotRegistry, ids: GroupIds) -> None:
        super().__init__(registry)
        self.ids = ids
        self.new_classic_group: Callable[[str], Group] = _no_classic_groups
        self.on_added: Callable[[], None] | None = None

    def __setitem__(self, key: str, value: Group) -> None:
        super().__setitem__(key, value)
        self.ids.add(key)
        if self.on_added is not None:
            self.on_added()

    def group(self, group_id: str, committed_offset: int = LATEST) -> Group:
        """Return the group. Raises GROUP_ID_NOT_FOUND."""
        group = self.get(group_id, committed_offset)
        if group is None:
            raise group_id_not_found(f"Group {group_id} not found.")
        return group

    def group_of(self, kind: type[G], group_id: str, committed_offset: int = LATEST) -> G:
        """Return the group if it has that class. Raises GROUP_ID_NOT_FOUND, as Kafka does also for a group of another
        type."""
        group = self.group(group_id, committed_offset)
        if not isinstance(group, kind):
            name: GroupType = kind.type
            raise group_id_not_found(f"Group {group_id} is not a {name.value} group.")
        return group

    def get_or_create_classic_group(self, group_id: str) -> Group:
        """Return the group of this id, or a new, empty classic group (getOrMaybeCreateClassicGroup). Only offset
        commits need this. Raises GROUP_ID_NOT_FOUND for a group of another type."""
        group = self.get(group_id)
        if group is None:
            group = self[group_id] = self.new_classic_group(group_id)
        elif group.type is not GroupType.CLASSIC:
            raise group_id_not_found(f"Group {group_id} is not a classic group.")
        return group

    def list_groups(
        self, states: Collection[str], types: Collection[str], committed_offset: int = LATEST
    ) -> list[ListedGroup]:
        """Return the groups in one of the states and of one of the types, in any case. Without names, all match."""
        wanted_states = {state.strip().lower() for state in states}
        wanted_types = {GroupType.parse(name) for name in types}
        return [
            group.as_listed_group(committed_offset)
            for group in self.values(committed_offset)
            if (not states or group.is_in_states(wanted_states, committed_offset))
            and (not types or group.type in wanted_types)
        ]
