"""Members of classic groups, from the view of a GroupHarness's coordinator: requests and responses."""

from __future__ import annotations

from typing import Generic, TypeVar

from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.core.groups.classic.messages import (
    HeartbeatRequest,
    JoinAnswer,
    JoinRequest,
    LeaveAnswer,
    LeaveRequest,
    LeavingMember,
    MemberProtocol,
    SyncAnswer,
    SyncRequest,
)
from fakebroker.core.groups.classic.service import heartbeat, join_group, leave_group, sync_group
from fakebroker.protocol.error_code import ErrorCode
from support.group_harness import GroupHarness

T = TypeVar("T")
RANGE = (MemberProtocol("range", b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"),)
SESSION_MS = 45_000
REBALANCE_MS = 300_000


class Asked(Generic[T]):
    """A pending operation, and its response; None while it waits."""

    def __init__(self) -> None:
        self.answers: list[T] = []

    @property
    def answer(self) -> T | None:
        assert len(self.answers) <= 1, f"answered {len(self.answers)} times"
        return self.answers[0] if self.answers else None

    @property
    def told(self) -> T:
        answer = self.answer
        assert answer is not None, "it waits"
        return answer


class ClassicMembers:
    """Members of one group of the harness."""

    def __init__(self, harness: GroupHarness, group_id: str = "g") -> None:
        self.harness = harness
        self.group_id = group_id

    @property
    def group(self) -> ClassicGroup:
        group = self.harness.shard(self.group_id).groups.group(self.group_id)
        assert isinstance(group, ClassicGroup)
        return group

    def join(
        self,
        member_id: str = "",
        *,
        instance_id: str | None = None,
        protocols: tuple[MemberProtocol, ...] = RANGE,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        knows_ids: bool = False,
        skips: bool = True,
    ) -> Asked[JoinAnswer]:
        """Join. `knows_ids`: from v4 on, a new member gets its id first."""
        pending: Asked[JoinAnswer] = Asked()
        request = JoinRequest(
            self.group_id,
            member_id,
            instance_id,
            "client",
            "/10.0.0.1",
            "consumer",
            protocols,
            session_ms,
            rebalance_ms,
            knows_ids,
            skips,
        )
        join_group(self.harness.coordinator(self.group_id), request, pending.answers.append)
        self.harness.simulation.settle()
        return pending

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        instance_id: str | None = None,
    ) -> Asked[SyncAnswer]:
        pending: Asked[SyncAnswer] = Asked()
        request = SyncRequest(self.group_id, generation, member_id, instance_id, None, None, assignments or {})
        sync_group(self.harness.coordinator(self.group_id), request, pending.answers.append)
        self.harness.simulation.settle()
        return pending

    def heartbeat(self, member_id: str, generation: int, instance_id: str | None = None) -> ErrorCode:
        return self.send_heartbeat(member_id, generation, instance_id).told

    def send_heartbeat(self, member_id: str, generation: int, instance_id: str | None = None) -> Asked[ErrorCode]:
        """Send a heartbeat. The response waits for the commit of pending writes."""
        pending: Asked[ErrorCode] = Asked()
        request = HeartbeatRequest(self.group_id, generation, member_id, instance_id)
        heartbeat(self.harness.coordinator(self.group_id), request, pending.answers.append)
        self.harness.simulation.settle()
        return pending

    def leave(self, *member_ids: str) -> Asked[LeaveAnswer]:
        pending: Asked[LeaveAnswer] = Asked()
        request = LeaveRequest(self.group_id, tuple(LeavingMember(member_id) for member_id in member_ids))
        leave_group(self.harness.coordinator(self.group_id), request, pending.answers.append)
        self.harness.simulation.settle()
        return pending

    def stable(self, count: int = 1, **values: int) -> list[str]:
        """Return a stable group of so many members, which joined in the order of these ids; the first one leads."""
        joins = [self.join(**values) for _ in range(count)]  # type: ignore[arg-type]
        while any(join.answer is None for join in joins):
            self.harness.advance(
                self.harness.coordinator().environment.configs.current.group_initial_rebalance_delay_ms
            )
        answers = [join.told for join in joins]
        ids = [answer.member_id for answer in answers]
        generation = answers[0].generation_id
        leader = self.sync(ids[0], generation, {member_id: member_id.encode() for member_id in ids})
        assert leader.told.error_code is ErrorCode.none
        for member_id in ids[1:]:
            assert self.sync(member_id, generation).told.assignment == member_id.encode()
        return ids
