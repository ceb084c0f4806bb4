"""A consumer group becomes a classic one when its last member that speaks the consumer protocol goes.

Theory   It leaves, is put out, or is a static member whose instance joins again with the classic protocol. The group is
         changed at once, as classic groups are; its records are only written. What each was to have is its assignment,
         its generation the epoch. Unless nothing had to change, it rebalances.
Source   group-coordinator/.../GroupMetadataManager.java validateOnlineDowngradeWithFencedMembers,
         validateOnlineDowngradeWithReplacedMember, convertToClassicGroup; .../classic/ClassicGroup.java
         fromConsumerGroup @ 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.core.groups.classic.member import ClassicGroupMember
from fakebroker.core.groups.classic.messages import MemberProtocol
from fakebroker.core.groups.classic.rebalance import Rebalances
from fakebroker.core.groups.classic.records import group_metadata_record
from fakebroker.core.groups.classic.states import STABLE
from fakebroker.core.groups.consumer.state.group import PROTOCOL_TYPE, ConsumerGroup
from fakebroker.core.groups.consumer.state.member import Assignment, ConsumerGroupMember
from fakebroker.core.groups.consumer.state.topics import Topics, by_name
from fakebroker.core.groups.consumer.tools import ConsumerTools
from fakebroker.core.groups.groups import group_id_not_found
from fakebroker.core.hash_order import timeline_order
from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.group_records.consumer_protocol import Assignment as ProtocolAssignment
from fakebroker.protocol.group_records.consumer_protocol import NamedTopicPartitions, encode_assignment, version_of


@final
class Downgrade:
    """Of the groups of a partition."""

    def __init__(self, tools: ConsumerTools, rebalances: Rebalances) -> None:
        self._tools = tools
        self._rebalances = rebalances

    def without(self, group: ConsumerGroup, leaving: Sequence[ConsumerGroupMember]) -> list[CoordinatorRecord] | None:
        """The group without these, as a classic one that rebalances. None, and nothing has happened, if it stays what
        it is."""
        remaining = len(group.members) - len(leaving)
        if not group.members.are_all_classic_without(leaving) or remaining <= 0 or not self._may_be_classic(remaining):
            return None
        reason = f"Downgrade group {group.group_id} from consumer to classic for member leaving."
        return self.convert(group, leaving, None, reason)

    def is_last_one_replaced(self, group: ConsumerGroup, existing: ConsumerGroupMember) -> bool:
        """Would the group be a classic one with a classic member in the place of this one?"""
        others = group.members.classic_count
        is_last = existing.classic is None and others == len(group.members) - 1
        return is_last and self._may_be_classic(len(group.members))

    def _may_be_classic(self, members: int) -> bool:
        return self._tools.migration.is_downgrade_enabled and members <= self._tools.classic_max_size

    def convert(
        self,
        group: ConsumerGroup,
        leaving: Sequence[ConsumerGroupMember],
        joining: ConsumerGroupMember | None,
        rebalance_reason: str | None,
    ) -> list[CoordinatorRecord]:
        """The group is a classic one from now on; these are its records. `joining` takes the place of a static member.
        Without a reason it is stable. Raises GROUP_ID_NOT_FOUND if a member's protocol cannot be read."""
        replaced = None if joining is None else group.members.by_instance(joining.instance_id)
        records = group.tombstones(replaced and replaced.member_id, joining and joining.member_id)
        try:
            classic = self._made(group, leaving, joining, replaced)
        except InvalidRecordError as error:
            raise group_id_not_found(f"Cannot downgrade the classic group {group.group_id}: {error}.") from None
        assignments = {member.member_id: member.assignment for member in classic.members.values()}
        records.append(group_metadata_record(classic, assignments))
        self._tools.groups[group.group_id] = classic
        for member in classic.members.values():
            self._rebalances.expect_heartbeat(classic, member)
        if rebalance_reason is not None:
            self._rebalances.prepare(classic, rebalance_reason)
        return records

    def _made(
        self,
        group: ConsumerGroup,
        leaving: Sequence[ConsumerGroupMember],
        joining: ConsumerGroupMember | None,
        replaced: ConsumerGroupMember | None,
    ) -> ClassicGroup:
        classic = ClassicGroup(group.group_id, STABLE, self._tools.wall_ms, group.epoch, PROTOCOL_TYPE)
        gone = {member.member_id for member in leaving}
        if replaced is not None:
            gone.add(replaced.member_id)
        staying = {member.member_id: member for member in group.members.all() if member.member_id not in gone}
        targets = {member_id: group.target(member_id) for member_id in staying}
        for member_id in timeline_order(staying):
            classic.add(_member(staying[member_id]))
        if joining is not None:
            assert replaced is not None
            classic.add(_member(joining))
            targets[joining.member_id] = group.target(replaced.member_id)
        classic.protocol_name = classic.select_protocol()
        classic.subscribed_topics = classic.compute_subscribed_topics()
        for member in classic.members.values():
            version = version_of(member.metadata(classic.protocol_name))
            member.assignment = protocol_assignment(targets[member.member_id], version, self._tools.topics)
        return classic


def _member(member: ConsumerGroupMember) -> ClassicGroupMember:
    assert member.classic is not None
    return ClassicGroupMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        member.classic.session_timeout_ms,
        PROTOCOL_TYPE,
        tuple(MemberProtocol(protocol.name, protocol.metadata) for protocol in member.classic.protocols),
    )


def protocol_assignment(assignment: Assignment, version: int, topics: Topics) -> bytes:
    """As a classic consumer reads it."""
    named = by_name(assignment, topics)
    return encode_assignment(
        ProtocolAssignment([NamedTopicPartitions(name, partitions) for name, partitions in named.items()]), version
    )
