"""The deletion of groups, with all their committed offsets.

Source   group-coordinator/.../GroupCoordinatorShard.java deleteGroups; GroupMetadataManager.java validateDeleteGroup,
         createGroupTombstoneRecords @ 4.2.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.groups.shard import GroupCoordinatorShard
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices

_GROUPS_OF_A_SLICE: Final = 128


class DeletedGroup(NamedTuple):
    """The outcome for one group."""

    group_id: str
    error_code: ErrorCode


def share_groups_deleted(shard: GroupCoordinatorShard) -> CoordinatorResult[None]:
    """Return no records: there are no share groups."""
    return CoordinatorResult([], None)


def delete_groups(group_ids: list[str], shard: GroupCoordinatorShard) -> Slices[CoordinatorResult[list[DeletedGroup]]]:
    """Delete the groups of one partition, each by itself."""
    records: list[CoordinatorRecord] = []
    results: list[DeletedGroup] = []
    for group_id in group_ids:
        if len(results) % _GROUPS_OF_A_SLICE == _GROUPS_OF_A_SLICE - 1:
            yield
        code = ErrorCode.none
        try:
            group = shard.groups.group(group_id)
            group.validate_delete_group()
        except KafkaError as error:
            code = error.code
        else:
            records += shard.offsets.delete_all_offsets(group_id)
            records += group.create_group_tombstone_records()
            group.cancel_timers(shard.services.timer)
        results.append(DeletedGroup(group_id, code))
    return CoordinatorResult(records, results)
