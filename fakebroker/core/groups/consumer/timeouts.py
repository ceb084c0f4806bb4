"""The timeouts of members: for silence, and for giving up partitions.

Theory   Each member has a session timeout, which every heartbeat restarts. While it gives up partitions, it has its
         rebalance timeout. A classic member has that to rejoin, and again to sync. A member that exceeds a timeout is
         fenced.
Units    milliseconds.
Source   group-coordinator/.../GroupMetadataManager.java scheduleConsumerGroupSessionTimeout,
         scheduleConsumerGroupRebalanceTimeout, scheduleConsumerGroupJoinTimeoutIfAbsent,
         scheduleConsumerGroupSyncTimeout, cancelTimers @ 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.groups.consumer.state.group import ConsumerGroup
from fakebroker.core.groups.consumer.state.member import ConsumerGroupMember
from fakebroker.core.groups.consumer.tools import ConsumerTools

# Removes a member from its group.
Fence = Callable[[ConsumerGroup, ConsumerGroupMember], CoordinatorResult[None]]


@final
class Timeouts:
    """The timeouts of the members of a partition's groups."""

    def __init__(self, tools: ConsumerTools, fence: Fence) -> None:
        self._tools = tools
        self._timer = tools.timer
        self._fence = fence

    def expect_heartbeat(self, group_id: str, member_id: str, timeout_ms: int | None = None) -> None:
        """Restart the session timeout; by default it is that of the group."""
        if timeout_ms is None:
            timeout_ms = self._tools.config_of(group_id).session_timeout_ms
        self._timer.schedule(session_key(group_id, member_id), timeout_ms, lambda: self._expire(group_id, member_id))

    def expect_revocation(self, group_id: str, member: ConsumerGroupMember) -> None:
        """Fence the member if it is still at this epoch after its rebalance timeout."""
        member_id, epoch = member.member_id, member.member_epoch
        self._timer.schedule(
            rebalance_key(group_id, member_id),
            member.rebalance_timeout_ms,
            lambda: self._expire(group_id, member_id, epoch),
        )

    def cancel_revocation(self, group_id: str, member_id: str) -> None:
        self._timer.cancel(rebalance_key(group_id, member_id))

    def expect_join(self, group_id: str, member: ConsumerGroupMember) -> None:
        """Start the timeout for the rejoin of a classic member, unless it runs already."""
        member_id = member.member_id
        self._timer.schedule_if_absent(
            join_key(group_id, member_id), member.rebalance_timeout_ms, lambda: self._expire(group_id, member_id)
        )

    def cancel_join(self, group_id: str, member_id: str) -> None:
        self._timer.cancel(join_key(group_id, member_id))

    def expect_sync(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """Start the timeout for the SyncGroup of a classic member that has joined."""
        self._timer.schedule(sync_key(group_id, member_id), timeout_ms, lambda: self._expire(group_id, member_id))

    def cancel_sync(self, group_id: str, member_id: str) -> None:
        self._timer.cancel(sync_key(group_id, member_id))

    def cancel_all(self, group_id: str, member_id: str) -> None:
        for key in (session_key, rebalance_key, join_key, sync_key):
            self._timer.cancel(key(group_id, member_id))

    def _expire(self, group_id: str, member_id: str, epoch: int | None = None) -> CoordinatorResult[None]:
        """Fence the member. If an epoch is given, only if the member is at it."""
        group = self._tools.groups.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if member is None or not isinstance(group, ConsumerGroup) or epoch not in (None, member.member_epoch):
            return CoordinatorResult((), None)
        return self._fence(group, member)


def session_key(group_id: str, member_id: str) -> str:
    return f"session-timeout-{group_id}-{member_id}"


def rebalance_key(group_id: str, member_id: str) -> str:
    return f"rebalance-timeout-{group_id}-{member_id}"


def join_key(group_id: str, member_id: str) -> str:
    return f"consumer-group-join-{group_id}-{member_id}"


def sync_key(group_id: str, member_id: str) -> str:
    return f"consumer-group-sync-{group_id}-{member_id}"
