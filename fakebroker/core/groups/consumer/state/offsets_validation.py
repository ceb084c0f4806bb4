"""Validation of a member's offset commits and fetches: the partitions and the epoch.

Theory   A member commits at its epoch. A late commit comes from a member that has reached another epoch meanwhile. It
         may still commit partitions that it held at that epoch and still holds or is giving up. The error is
         ILLEGAL_GENERATION for classic members, STALE_MEMBER_EPOCH for others.
Source   group-coordinator/.../modern/consumer/ConsumerGroup.java validateOffsetCommit, validateMemberEpoch,
         createAssignmentEpochValidator @ 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from fakebroker.core.groups.consumer.state.member import ConsumerGroupMember
from fakebroker.core.groups.consumer.state.topics import Topics
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

ZERO_ID = UUID(int=0)


def validate_commit_epoch(
    member: ConsumerGroupMember, epoch: int, is_transactional: bool, version: int, topics: Topics
) -> Callable[[str, int], None] | None:
    """Return the validation of each partition, by topic name and index; None if all are valid."""
    if not is_transactional and member.classic is None and version < 9:
        raise KafkaError(
            ErrorCode.unsupported_version,
            "OffsetCommit version 9 or above must be used by members using the consumer group protocol",
        )
    if epoch == member.member_epoch:
        return None
    what = "member epoch" if member.classic is None else "generation id"
    if epoch > member.member_epoch:
        raise _stale(member, f"Received {what} {epoch} is newer than current member epoch {member.member_epoch}.")

    def validate_partition(topic_name: str, partition: int) -> None:
        topic = topics.topic(topic_name)
        given_at = member.epoch_of(ZERO_ID if topic is None else topic.topic_id, partition)
        if given_at is None:
            raise _stale(
                member, f"Partition {topic_name}-{partition} is not assigned or pending revocation for member."
            )
        if epoch < given_at:
            raise _stale(
                member,
                f"Received {what} {epoch} is older than assignment epoch {given_at} for partition "
                f"{topic_name}-{partition}.",
            )

    return validate_partition


def validate_fetch_epoch(member: ConsumerGroupMember, epoch: int) -> None:
    if epoch != member.member_epoch:
        what = "member epoch" if member.classic is None else "generation id"
        raise _stale(
            member, f"The received {what} {epoch} does not match the expected member epoch {member.member_epoch}."
        )


def _stale(member: ConsumerGroupMember, text: str) -> KafkaError:
    return KafkaError(ErrorCode.stale_member_epoch if member.classic is None else ErrorCode.illegal_generation, text)
