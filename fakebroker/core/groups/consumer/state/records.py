"""The records that change a group.

Source   group-coordinator/.../GroupCoordinatorRecordHelpers.java @ 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.groups.consumer.state.member import (
    Assignment,
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMember,
    OwnedPartitions,
)
from fakebroker.core.groups.consumer.state.topics import ResolvedRegularExpression
from fakebroker.protocol.group_records.consumer_group import (
    ClassicMemberMetadataValue,
    ClassicProtocolValue,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    CurrentTopicPartitions,
    TargetTopicPartitions,
)
from fakebroker.protocol.group_records.many_names import ManyNames


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id), ConsumerGroupMetadataValue(epoch, metadata_hash))


def no_subscription_metadata(group_id: str) -> CoordinatorRecord:
    """Return the tombstone of a record that Kafka wrote until 4.0."""
    return CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id), None)


def member_metadata(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    names = member.topic_names
    is_many = isinstance(names, ManyNames)
    return CoordinatorRecord(
        ConsumerGroupMemberMetadataKey(group_id, member.member_id),
        ConsumerGroupMemberMetadataValue(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=names if is_many else tuple(sorted(names)),
            subscribed_topic_regex=member.topic_regex,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            server_assignor=member.assignor,
            classic_member_metadata=_classic_value(member.classic),
        ),
        len(names.encoded) if isinstance(names, ManyNames) else 0,
    )


def target_assignment(group_id: str, member_id: str, assignment: Assignment) -> CoordinatorRecord:
    return CoordinatorRecord(
        ConsumerGroupTargetAssignmentMemberKey(group_id, member_id),
        ConsumerGroupTargetAssignmentMemberValue(
            tuple(
                TargetTopicPartitions(topic_id, tuple(sorted(partitions)))
                for topic_id, partitions in assignment.items()
            )
        ),
    )


def target_assignment_epoch(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    return CoordinatorRecord(
        ConsumerGroupTargetAssignmentMetadataKey(group_id),
        ConsumerGroupTargetAssignmentMetadataValue(epoch, timestamp_ms),
    )


def current_assignment(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    return CoordinatorRecord(
        ConsumerGroupCurrentMemberAssignmentKey(group_id, member.member_id),
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=member.state,
            assigned_partitions=_owned_value(member.assigned),
            partitions_pending_revocation=_owned_value(member.pending_revocation),
        ),
    )


def regular_expression(group_id: str, regex: str, resolved: ResolvedRegularExpression) -> CoordinatorRecord:
    return CoordinatorRecord(
        ConsumerGroupRegularExpressionKey(group_id, regex),
        ConsumerGroupRegularExpressionValue(tuple(sorted(resolved.topics)), resolved.version, resolved.timestamp_ms),
    )


# Tombstones.


def no_regular_expression(group_id: str, regex: str) -> CoordinatorRecord:
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id, regex), None)


def no_member(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Return the tombstones of a member, in this order."""
    return [
        CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id), None),
        CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), None),
        CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id, member_id), None),
    ]


def no_group(group_id: str, member_ids: Iterable[str], regexes: Iterable[str]) -> list[CoordinatorRecord]:
    """Return all tombstones of a group."""
    members = list(member_ids)
    return [
        *(CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id, member), None) for member in members),
        *(CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id, member), None) for member in members),
        CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id), None),
        *(CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id, member), None) for member in members),
        *(no_regular_expression(group_id, regex) for regex in regexes),
        no_subscription_metadata(group_id),
        CoordinatorRecord(ConsumerGroupMetadataKey(group_id), None),
    ]


# Between state and record values.


def _classic_value(classic: ClassicMemberMetadata | None) -> ClassicMemberMetadataValue | None:
    if classic is None:
        return None
    protocols = tuple(ClassicProtocolValue(protocol.name, protocol.metadata) for protocol in classic.protocols)
    return ClassicMemberMetadataValue(classic.session_timeout_ms, protocols)


def classic_metadata(value: ClassicMemberMetadataValue | None) -> ClassicMemberMetadata | None:
    if value is None:
        return None
    protocols = tuple(ClassicProtocol(protocol.name, protocol.metadata) for protocol in value.supported_protocols)
    return ClassicMemberMetadata(value.session_timeout_ms, protocols)


def _owned_value(owned: OwnedPartitions) -> tuple[CurrentTopicPartitions, ...]:
    return tuple(
        CurrentTopicPartitions(topic_id, tuple(sorted(epochs)), tuple(epochs[index] for index in sorted(epochs)))
        for topic_id, epochs in owned.items()
    )


def owned_partitions(value: Iterable[CurrentTopicPartitions], default_epoch: int) -> OwnedPartitions:
    """Return owned partitions. Without epochs of their own they get that of the member."""
    default = max(default_epoch, 0)
    return {
        topic.topic_id: (
            dict(zip(topic.partitions, topic.assignment_epochs, strict=True))
            if topic.assignment_epochs is not None and len(topic.assignment_epochs) == len(topic.partitions)
            else dict.fromkeys(topic.partitions, default)
        )
        for topic in value
    }
