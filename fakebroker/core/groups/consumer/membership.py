"""Identify the member of a request: dynamic members by member id, static ones by instance id and its current member id.

Theory   A member sends its epoch with each request. It must be the known epoch. The epoch before is also accepted,
         since the response may have been lost. Then the partitions that the member reports must be part of its
         assignment. Any other epoch is fenced: the member gives up everything and rejoins.
Source   group-coordinator/.../GroupMetadataManager.java getOrMaybeSubscribeDynamicConsumerGroupMember,
         getOrMaybeSubscribeStaticConsumerGroupMember, replaceMember, throwIf... @ 4.4.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from uuid import UUID

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.groups.consumer.state import records as make
from fakebroker.core.groups.consumer.state.group import ConsumerGroup
from fakebroker.core.groups.consumer.state.member import (
    JOIN,
    LEAVE_FOR_A_WHILE,
    ConsumerGroupMember,
    ReportedPartitions,
    owns_only,
)
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


def new_member_id(random_uuid: Callable[[], UUID]) -> str:
    """Return a random id like Kafka's Uuid.randomUuid, which never begins with a dash."""
    while True:
        text = urlsafe_b64encode(random_uuid().bytes)[:22].decode()
        if not text.startswith("-"):
            return text


def check_group_is_not_full(group: ConsumerGroup, member_id: str, instance_id: str | None, max_size: int) -> None:
    """Raise GROUP_MAX_SIZE_REACHED if the group is full and the member is new."""
    if group.members.by_instance(instance_id) is not None:
        return
    if len(group.members) >= max_size and (not member_id or member_id not in group.members):
        raise KafkaError(
            ErrorCode.group_max_size_reached,
            f"The consumer group has reached its maximum capacity of {max_size} members.",
        )


def check_epoch(member: ConsumerGroupMember, epoch: int, owned: Sequence[ReportedPartitions] | None) -> None:
    """Raise FENCED_MEMBER_EPOCH if this is neither the current epoch nor the one before."""
    if epoch == JOIN or epoch == member.member_epoch:
        return
    if epoch < member.member_epoch and epoch == member.previous_member_epoch and owns_only(owned, member.assigned):
        return
    how = "greater" if epoch > member.member_epoch else "smaller"
    raise KafkaError(
        ErrorCode.fenced_member_epoch,
        f"The consumer group member has a {how} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.member_epoch}). The member must abandon all its partitions and rejoin.",
    )


def static_member(group: ConsumerGroup, instance_id: str) -> ConsumerGroupMember:
    """Return the static member. Raises UNKNOWN_MEMBER_ID."""
    member = group.members.by_instance(instance_id)
    if member is None:
        raise KafkaError(ErrorCode.unknown_member_id, f"Instance id {instance_id} is unknown.")
    return member


def check_instance_is_not_fenced(member: ConsumerGroupMember, member_id: str, instance_id: str) -> None:
    """Raise FENCED_INSTANCE_ID if another member has the instance id."""
    if member.member_id != member_id:
        raise KafkaError(
            ErrorCode.fenced_instance_id,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}.",
        )


def member_of_heartbeat(
    group: ConsumerGroup,
    member_id: str,
    epoch: int,
    instance_id: str | None,
    owned: Sequence[ReportedPartitions] | None,
    records: list[CoordinatorRecord],
) -> ConsumerGroupMember:
    """Return the member that sends the heartbeat, or that joins. If an instance rejoins under another member id,
    replace its old member."""
    if instance_id is None:
        known = group.members.get(member_id)
        member = ConsumerGroupMember(member_id) if known is None and epoch == JOIN else group.member(member_id)
        check_epoch(member, epoch, owned)
        return member
    if epoch != JOIN:
        member = static_member(group, instance_id)
        check_instance_is_not_fenced(member, member_id, instance_id)
        check_epoch(member, epoch, owned)
        return member
    existing = group.members.by_instance(instance_id)
    if existing is None:
        return group.members.get(member_id) or ConsumerGroupMember(member_id)
    if existing.classic is None and existing.member_epoch != LEAVE_FOR_A_WHILE:
        raise KafkaError(
            ErrorCode.unreleased_instance_id,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id "
            f"is owned by {existing.member_id} member.",
        )
    return replace_member(group, existing, member_id, records)


def replace_member(
    group: ConsumerGroup, existing: ConsumerGroupMember, member_id: str, records: list[CoordinatorRecord]
) -> ConsumerGroupMember:
    """Give a static member another id. Its epoch starts at 0 again; the target stays."""
    member = existing._replace(member_id=member_id, member_epoch=0, previous_member_epoch=0)
    records += make.no_member(group.group_id, existing.member_id)
    records += [
        make.member_metadata(group.group_id, member),
        make.target_assignment(group.group_id, member_id, group.target(existing.member_id)),
        make.current_assignment(group.group_id, member),
    ]
    return member
