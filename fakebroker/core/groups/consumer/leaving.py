"""Members that leave, for good or for a while, and members that are fenced.

Theory   When a member leaves for good, its records are deleted, and the epoch of the group grows. Its partitions have
         no owner until the next target. A static member that leaves for a while keeps its target, at epoch -2. It stays
         until its instance id joins again or its session times out.
Source   group-coordinator/.../GroupMetadataManager.java consumerGroupLeave, consumerGroupStaticMemberGroupLeave,
         consumerGroupFenceMembers, maybeDeleteResolvedRegularExpressions @ 4.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, TypeVar, final

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.groups.consumer.membership import check_instance_is_not_fenced, static_member
from fakebroker.core.groups.consumer.messages import ConsumerHeartbeatRequest, HeartbeatAnswer
from fakebroker.core.groups.consumer.state import records as make
from fakebroker.core.groups.consumer.state.group import ConsumerGroup
from fakebroker.core.groups.consumer.state.member import LEAVE_FOR_A_WHILE, NOTHING_OWNED, ConsumerGroupMember
from fakebroker.core.groups.consumer.state.topics import metadata_hash
from fakebroker.core.groups.consumer.timeouts import Timeouts
from fakebroker.core.groups.consumer.tools import ConsumerTools
from fakebroker.core.journal.group_events import MemberLeft

T = TypeVar("T")

# Converts a group into a classic one if these members were the last of the consumer protocol. Returns its records, or
# None.
Downgrade = Callable[[ConsumerGroup, Sequence[ConsumerGroupMember]], "list[CoordinatorRecord] | None"]


_NOT_IN_TIME: Final = "it was not heard of, or did not give up its partitions, in time"


@final
class Leaving:
    """Members of a partition's groups that leave or are fenced."""

    def __init__(self, tools: ConsumerTools, downgrade: Downgrade) -> None:
        self._tools = tools
        self._downgrade = downgrade
        self.timeouts = Timeouts(tools, lambda group, member: self.fence(group, [member], None, _NOT_IN_TIME))

    def leave(self, request: ConsumerHeartbeatRequest) -> CoordinatorResult[HeartbeatAnswer]:
        group = self._tools.consumer_group(request.group_id)
        answer = HeartbeatAnswer(request.member_id, request.member_epoch)
        if request.instance_id is None:
            return self.fence(group, [group.member(request.member_id)], answer)
        member = static_member(group, request.instance_id)
        check_instance_is_not_fenced(member, request.member_id, request.instance_id)
        if request.member_epoch != LEAVE_FOR_A_WHILE:
            return self.fence(group, [member], answer)
        away = member._replace(
            member_epoch=LEAVE_FOR_A_WHILE,
            pending_revocation=NOTHING_OWNED,
            assigned={topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in member.assigned.items()},
        )
        return CoordinatorResult([make.current_assignment(group.group_id, away)], answer)

    def fence(
        self, group: ConsumerGroup, members: Sequence[ConsumerGroupMember], answer: T, reason: str = "it has left"
    ) -> CoordinatorResult[T]:
        """Remove these members from the group. `reason` is for the journal."""
        if not members:
            return CoordinatorResult((), answer)
        probe = self._tools.probe
        for member in members if probe.listeners else ():
            probe.tell(MemberLeft(*probe.times, group.group_id, member.member_id, group.epoch, reason))
        converted = self._downgrade(group, members)
        if converted is not None:
            return CoordinatorResult(converted, answer, replay_records=False)
        group_id = group.group_id
        records = [record for member in members for record in make.no_member(group_id, member.member_id)]
        regexes = _regexes_of_these_alone(group, members)
        records += [make.no_regular_expression(group_id, regex) for regex in regexes]
        metadata = metadata_hash(group.members.topics_without(members, regexes), self._tools.topics)
        records.append(make.group_epoch(group_id, group.epoch + 1, metadata))
        if len(group.members) == len(members):
            records.append(make.target_assignment_epoch(group_id, group.epoch + 1, 0))
        for member in members:
            self.timeouts.cancel_all(group_id, member.member_id)
        return CoordinatorResult(records, answer)


def _regexes_of_these_alone(group: ConsumerGroup, members: Sequence[ConsumerGroupMember]) -> list[str]:
    counts = Counter(member.regex for member in members if member.regex is not None)
    return [regex for regex, count in counts.items() if group.members.subscribed_to_regex(regex) == count]
