"""The conversion of a consumer group into a classic one, when its last member of the consumer protocol goes.

Theory   That member leaves, is fenced, or is a static member, and its instance rejoins with the classic protocol. The
         group object is changed at once, and the records are written, not replayed. Members get their target as
         assignment, and the epoch is the generation. A rebalance follows, unless nothing has to change.
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
    """The conversion of the consumer groups of a partition into classic groups."""

    def __init__(self, tools: ConsumerTools, rebalances: Rebalances) -> None:
        self._tools = tools
        self._rebalances = rebalances

    def without(self, group: ConsumerGroup, leaving: Sequence[ConsumerGroupMember]) -> list[CoordinatorRecord] | None:
        """Convert the group, without the leaving members, into a classic one that rebalances. Do nothing and return
        None if it has to stay a consumer group."""
        remaining = len(group.members) - len(leaving)
        if not group.members.are_all_classic_without(leaving) or remaining <= 0 or not self._may_be_classic(remaining):
            return None
        reason = f"Downgrade group {group.group_id} from consumer to classic for member leaving."
        return self.convert(group, leaving, None, reason)

    def is_last_one_replaced(self, group: ConsumerGroup, existing: ConsumerGroupMember) -> bool:
        """Return True if replacing this member by a classic one would make the group classic."""
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
        """Make the group classic, and return its records. `joining` replaces a static member. Without a rebalance
        reason the group is stable. Raises GROUP_ID_NOT_FOUND if a member's protocol cannot be read."""
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
        classic.protocol_name = classic.roster.select_protocol()
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
    """Return the assignment in the format of classic consumers."""
    named = by_name(assignment, topics)
    return encode_assignment(
        ProtocolAssignment([NamedTopicPartitions(name, partitions) for name, partitions in named.items()]), version
    )
