"""The conversion of a classic group with members into a consumer group, when a member joins with the consumer protocol.

Theory   The members stay, keep the classic protocol and their assignments. The generation is their epoch. Requests that
         wait for a rebalance get REBALANCE_IN_PROGRESS. The subscriptions and assignments, which are made by clients,
         are read. If they cannot be read, or the assignor kept data of its own, the group stays classic.
Source   group-coordinator/.../GroupMetadataManager.java validateOnlineUpgrade, convertToConsumerGroup;
         .../modern/consumer/ConsumerGroup.java fromClassicGroup, createConsumerGroupRecords @ 4.4.
"""

from __future__ import annotations

from typing import final

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.core.groups.classic.member import EMPTY_ASSIGNMENT, ClassicGroupMember
from fakebroker.core.groups.consumer.state import records as make
from fakebroker.core.groups.consumer.state.group import ConsumerGroup
from fakebroker.core.groups.consumer.state.member import (
    NO_PARTITIONS,
    Assignment,
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMember,
    with_epochs,
)
from fakebroker.core.groups.consumer.state.topics import by_id, metadata_hash
from fakebroker.core.groups.consumer.timeouts import Timeouts
from fakebroker.core.groups.consumer.tools import ConsumerTools
from fakebroker.core.groups.groups import group_id_not_found
from fakebroker.core.hash_order import timeline_order
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import InvalidRecordError, KafkaError
from fakebroker.protocol.group_records.consumer_protocol import decode_assignment, decode_subscription
from fakebroker.protocol.group_records.many_names import as_names


@final
class Upgrade:
    """The conversion of the classic groups of a partition into consumer groups."""

    def __init__(self, tools: ConsumerTools, timeouts: Timeouts) -> None:
        self._tools = tools
        self._timeouts = timeouts

    def upgrade(self, group: ClassicGroup, records: list[CoordinatorRecord]) -> ConsumerGroup:
        """Return the consumer group. Lookups do not find it before its records are replayed. Raises GROUP_ID_NOT_FOUND
        if the group may not be upgraded."""
        self._validate(group)
        group.roster.complete_all_joins(ErrorCode.rebalance_in_progress)
        group.roster.complete_all_syncs(ErrorCode.rebalance_in_progress)
        records += group.create_group_tombstone_records()
        what = f"Cannot upgrade classic group {group.group_id} to consumer group because"
        try:
            made = self._made(group)
        except InvalidRecordError:
            raise group_id_not_found(f"{what} the embedded consumer protocol is malformed.") from None
        except _CustomAssignorError:
            raise group_id_not_found(
                f"{what} an unsupported custom assignor is in use. Please refer to the documentation or switch to a "
                "default assignor before re-attempting the upgrade."
            ) from None
        records += _records(made)
        for member in made.members.all():
            assert member.classic is not None
            self._timeouts.expect_heartbeat(made.group_id, member.member_id, member.classic.session_timeout_ms)
        return made

    def _validate(self, group: ClassicGroup) -> None:
        what = f"Cannot upgrade classic group {group.group_id} to consumer group because"
        if not self._tools.migration.is_upgrade_enabled:
            raise group_id_not_found(f"{what} online upgrade is disabled.")
        if not group.uses_consumer_protocol:
            raise group_id_not_found(f"{what} the group does not use the consumer embedded protocol.")
        if len(group.members) > self._tools.max_size:
            raise group_id_not_found(f"{what} the group size exceeds the consumer group maximum size.")

    def _made(self, group: ClassicGroup) -> ConsumerGroup:
        made = self._tools.new_group(group.group_id)
        epoch = group.generation_id
        made.set_epoch(epoch, 0)
        made.set_target_epoch(epoch, 0)
        for classic in group.members.values():
            assignment = self._assignment(classic)
            made.set_target(classic.member_id, assignment)
            made.members.update(_member(group, classic, assignment))
        made.set_epoch(epoch, metadata_hash(made.members.topics, self._tools.topics))
        return made

    def _assignment(self, classic: ClassicGroupMember) -> Assignment:
        if classic.assignment == EMPTY_ASSIGNMENT:
            return NO_PARTITIONS
        assignment = decode_assignment(classic.assignment)
        if assignment.user_data:
            raise _CustomAssignorError
        return by_id(dict(assignment.partitions), self._tools.topics)


class _CustomAssignorError(Exception):
    """The client-side assignor keeps data of its own, which an upgrade would lose."""


def _member(group: ClassicGroup, classic: ClassicGroupMember, assignment: Assignment) -> ConsumerGroupMember:
    if group.protocol_name is None:  # no protocol is chosen yet; Kafka fails here too
        raise KafkaError(ErrorCode.unknown_server_error, f"Group {group.group_id} has no protocol yet.")
    subscription = decode_subscription(classic.metadata(group.protocol_name))
    return ConsumerGroupMember(
        member_id=classic.member_id,
        member_epoch=group.generation_id,
        previous_member_epoch=group.generation_id,
        instance_id=classic.group_instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=classic.rebalance_timeout_ms,
        client_id=classic.client_id,
        client_host=classic.client_host,
        topic_names=as_names(subscription.topics),
        assigned=with_epochs(assignment, group.generation_id),
        classic=ClassicMemberMetadata(
            classic.session_timeout_ms,
            tuple(ClassicProtocol(protocol.name, protocol.metadata) for protocol in classic.protocols),
        ),
    )


def _records(group: ConsumerGroup) -> list[CoordinatorRecord]:
    by_id = {member.member_id: member for member in group.members.all()}
    members = [by_id[member_id] for member_id in timeline_order(by_id)]
    group_id, target = group.group_id, group.target_epoch
    return [
        *(make.member_metadata(group_id, member) for member in members),
        make.group_epoch(group_id, group.epoch, group.metadata_hash),
        *(make.target_assignment(group_id, id_, group.target(id_)) for id_ in (member.member_id for member in members)),
        make.target_assignment_epoch(group_id, target.epoch, target.timestamp_ms),
        *(make.current_assignment(group_id, member) for member in members),
    ]
