"""Groups as JSON: the content of DescribeGroups, ConsumerGroupDescribe and OffsetFetch, of all coordinators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from pydantic import BaseModel

from fakebroker.cluster.cluster import Cluster
from fakebroker.core.coordinator.timeline import LATEST
from fakebroker.core.errors import KafkaError
from fakebroker.core.groups.group import GroupType, ListedGroup
from fakebroker.core.groups.offsets.messages import OffsetFetch
from fakebroker.core.groups.shard import GroupCoordinatorShard
from fakebroker.protocol.slices import finish

T = TypeVar("T")


class GroupLine(BaseModel):
    """`state`, `type` and `protocol_type` are those of ListGroups."""

    group_id: str
    state: str
    type: str
    protocol_type: str
    coordinator: int


class Member(BaseModel):
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str


class Committed(BaseModel):
    """A committed offset; -1 if an open transaction has written another one."""

    topic: str
    partition: int
    offset: int


class GroupNow(GroupLine):
    members: list[Member]
    offsets: list[Committed]


def list_groups(core: Cluster) -> list[GroupLine]:
    """Return all groups of loaded coordinators."""
    return [
        _line(broker_id, group)
        for broker_id, groups in _read(core, lambda shard: shard.groups.list_groups((), (), LATEST))
        for group in groups
    ]


def find_group(core: Cluster, group_id: str) -> GroupNow | None:
    """Return a group; None if no coordinator has it now."""

    def look(shard: GroupCoordinatorShard) -> tuple[ListedGroup, list[Member], list[Committed]] | None:
        group = shard.groups.get(group_id)
        if group is None:
            return None
        if group.type is GroupType.CLASSIC:
            members = [
                Member(
                    member_id=member.member_id,
                    instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                )
                for member in shard.classic.describe(group_id, LATEST, True).members
            ]
        else:
            members = [
                Member(
                    member_id=member.member_id,
                    instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                )
                for member in shard.consumer_groups.describe(group_id, LATEST).members
            ]
        offsets = [
            Committed(topic=topic.name, partition=fetched.partition, offset=fetched.offset)
            for topic in finish(shard.offsets.fetch(OffsetFetch(group_id, None, -1, None), LATEST))
            for fetched in topic.partitions
        ]
        return group.as_listed_group(LATEST), members, offsets

    for broker_id, description in _read(core, look):
        if description is not None:
            group, members, offsets = description
            return GroupNow(**_line(broker_id, group).model_dump(), members=members, offsets=offsets)
    return None


def _line(broker_id: int, group: ListedGroup) -> GroupLine:
    return GroupLine(
        group_id=group.group_id,
        state=group.state,
        type=group.type,
        protocol_type=group.protocol_type,
        coordinator=broker_id,
    )


def _read(core: Cluster, look: Callable[[GroupCoordinatorShard], T]) -> Iterable[tuple[int, T]]:
    """Yield the result of `look` for each partition of __consumer_offsets that has an active coordinator; loading ones
    are left out."""
    for broker_id, broker in list(core.brokers.items()):
        results: list[T | KafkaError] = []
        broker.groups.read_all("control", lambda shard, _: look(shard), results.extend)
        for result in results:
            if not isinstance(result, KafkaError):
                yield broker_id, result
