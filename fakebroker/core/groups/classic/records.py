"""The record of a classic group: made from the group, and read back.

Source   group-coordinator/.../GroupCoordinatorRecordHelpers.java newGroupMetadataRecord, newEmptyGroupMetadataRecord;
         GroupMetadataManager.java replay(GroupMetadataKey, GroupMetadataValue), appendGroupMetadataErrorToResponseError
         @ 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.core.groups.classic.member import ClassicGroupMember
from fakebroker.core.groups.classic.messages import MemberProtocol
from fakebroker.core.groups.classic.states import EMPTY, STABLE
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.group_records.group_metadata import (
    NONE,
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)

_TOLD_AS: Final = {
    ErrorCode.unknown_topic_or_partition: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas: ErrorCode.coordinator_not_available,
    ErrorCode.request_timed_out: ErrorCode.coordinator_not_available,
    ErrorCode.not_leader_or_follower: ErrorCode.not_coordinator,
    ErrorCode.kafka_storage_error: ErrorCode.not_coordinator,
    ErrorCode.message_too_large: ErrorCode.unknown_server_error,
    ErrorCode.record_list_too_large: ErrorCode.unknown_server_error,
    ErrorCode.invalid_fetch_size: ErrorCode.unknown_server_error,
}


def told_as(append_error: ErrorCode) -> ErrorCode:
    """Return the error code for the members if the append of a group record failed."""
    return _TOLD_AS.get(append_error, append_error)


def group_metadata_record(group: ClassicGroup, assignment: Mapping[str, bytes]) -> CoordinatorRecord:
    """Return the record of a generation. `assignment` is by member id."""
    least_bytes = 0
    for member in group.members.values():
        least_bytes += len(member.metadata(group.protocol_name)) + len(assignment[member.member_id])
    return CoordinatorRecord(
        GroupMetadataKey(group.group_id),
        GroupMetadataValue(
            group.protocol_type or "",
            group.generation_id,
            group.protocol_name,
            group.leader_id,
            NONE if group.state_timestamp_ms is None else group.state_timestamp_ms,
            tuple(
                MemberMetadata(
                    member.member_id,
                    member.group_instance_id,
                    member.client_id,
                    member.client_host,
                    member.rebalance_timeout_ms,
                    member.session_timeout_ms,
                    member.metadata(group.protocol_name),
                    assignment[member.member_id],
                )
                for member in group.members.values()
            ),
        ),
        least_bytes,
    )


def empty_group_metadata_record(group: ClassicGroup) -> CoordinatorRecord:
    """Return the record of a new group, without members."""
    timestamp_ms = NONE if group.state_timestamp_ms is None else group.state_timestamp_ms
    return CoordinatorRecord(GroupMetadataKey(group.group_id), GroupMetadataValue("", 0, None, None, timestamp_ms, ()))


def loaded_group(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """Return the group of a record, either stable or empty. The record keeps only the chosen protocol of each
    member."""
    timestamp_ms = value.current_state_timestamp_ms
    group = ClassicGroup(
        group_id,
        STABLE if value.members else EMPTY,
        None if timestamp_ms == NONE else timestamp_ms,
        value.generation,
        value.protocol_type or None,
        value.protocol,
        value.leader,
    )
    for member in value.members:
        group.add(
            ClassicGroupMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.session_timeout_ms if member.rebalance_timeout_ms == NONE else member.rebalance_timeout_ms,
                member.session_timeout_ms,
                value.protocol_type,
                (MemberProtocol(value.protocol or "", member.subscription),),
                member.assignment,
            )
        )
    group.subscribed_topics = group.compute_subscribed_topics()
    return group
