"""ConsumerGroupDescribe: a group as of the committed offset.

Source   group-coordinator/.../modern/consumer/ConsumerGroup.java asDescribedGroup; .../ConsumerGroupMember.java
         asConsumerGroupDescribeMember @ 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from fakebroker.core.groups.consumer.messages import DescribedConsumerGroup, DescribedConsumerMember, NamedPartitions
from fakebroker.core.groups.consumer.state.group import ConsumerGroup
from fakebroker.core.groups.consumer.state.member import Assignment, ConsumerGroupMember
from fakebroker.core.groups.consumer.state.topics import Topics
from fakebroker.core.hash_order import timeline_order
from fakebroker.protocol.group_records.many_names import in_order


def describe_group(
    group: ConsumerGroup, committed_offset: int, default_assignor: str, topics: Topics
) -> DescribedConsumerGroup:
    epoch, assignment_epoch = group.epochs_at(committed_offset)
    members = {member.member_id: member for member in group.members.all(committed_offset)}
    return DescribedConsumerGroup(
        group_id=group.group_id,
        state=group.state_name(committed_offset),
        epoch=epoch,
        assignment_epoch=assignment_epoch,
        assignor=group.members.preferred_assignor(committed_offset) or default_assignor,
        members=[
            _describe_member(members[member_id], group.target(member_id, committed_offset), topics)
            for member_id in timeline_order(members)
        ],
    )


def _describe_member(member: ConsumerGroupMember, target: Assignment, topics: Topics) -> DescribedConsumerMember:
    held: dict[UUID, list[int]] = {}
    for owned in (member.assigned, member.pending_revocation):
        for topic_id, partitions in owned.items():
            held.setdefault(topic_id, []).extend(sorted(partitions))
    return DescribedConsumerMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=in_order(member.topic_names),
        topic_regex=member.topic_regex,
        assignment=_named(held, topics),
        target=_named({topic_id: sorted(partitions) for topic_id, partitions in target.items()}, topics),
        is_classic=member.classic is not None,
    )


def _named(partitions: Mapping[UUID, Iterable[int]], topics: Topics) -> list[NamedPartitions]:
    """Return the partitions with topic names. Deleted topics are left out."""
    topics_and_indexes = ((topics.topic_by_id(topic_id), indexes) for topic_id, indexes in partitions.items())
    return [
        NamedPartitions(topic.topic_id, topic.name, list(indexes))
        for topic, indexes in topics_and_indexes
        if topic is not None
    ]
