"""Requests and responses of classic groups, as plain values.

Theory   A JoinGroup or SyncGroup may wait for other members. Each comes with a Reply, which is completed once, now or
         later. Further completions change nothing, as with Kafka's futures.
Units    milliseconds.
Source   clients/src/main/resources/common/message/{JoinGroup,SyncGroup,Heartbeat,LeaveGroup}*.json @ 4.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar, final

from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.groups.requests import HeartbeatRequest as HeartbeatRequest
from fakebroker.protocol.groups.requests import MemberProtocol as MemberProtocol
from fakebroker.protocol.groups.requests import SyncRequest as SyncRequest

Answer = TypeVar("Answer")

UNKNOWN_MEMBER_ID = ""


class JoinRequest(NamedTuple):
    """A JoinGroup request.

    requires_known_member_id      a new member gets its id first, and rejoins (v4, KIP-394) supports_skipping_assignment
    a rejoining static leader may skip the assignment (v9)
    may_describe                  tells which topics the client may describe; None for all
    """

    group_id: str
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    protocol_type: str
    protocols: tuple[MemberProtocol, ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    requires_known_member_id: bool
    supports_skipping_assignment: bool
    reason: str | None = None
    may_describe: Callable[[str], bool] | None = None


class JoinedMember(NamedTuple):
    """A member in the JoinGroup response to the leader."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinAnswer(NamedTuple):
    error_code: ErrorCode = ErrorCode.none
    member_id: str = UNKNOWN_MEMBER_ID
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = UNKNOWN_MEMBER_ID
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


class SyncAnswer(NamedTuple):
    error_code: ErrorCode = ErrorCode.none
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class LeavingMember(NamedTuple):
    """A member that leaves. It is named by its member id, or by an empty id and the instance id of a static member."""

    member_id: str
    group_instance_id: str | None = None
    reason: str | None = None


class LeaveRequest(NamedTuple):
    group_id: str
    members: tuple[LeavingMember, ...]


class LeftMember(NamedTuple):
    """The outcome for one member of a LeaveGroup."""

    member_id: str
    group_instance_id: str | None
    error_code: ErrorCode = ErrorCode.none


class LeaveAnswer(NamedTuple):
    error_code: ErrorCode = ErrorCode.none
    members: tuple[LeftMember, ...] = ()


class DescribedMember(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class DescribedGroup(NamedTuple):
    error_code: ErrorCode
    group_id: str
    state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedMember, ...] = ()
    error_message: str | None = None


def _at_once(do: Callable[[], None]) -> None:
    do()


@final
class Reply(Generic[Answer]):
    """A response that is completed later, at most once. `put_off` runs a callback after other work has had its turn."""

    __slots__ = ("_answer", "_put_off")

    def __init__(
        self, answer: Callable[[Answer], None], put_off: Callable[[Callable[[], None]], None] = _at_once
    ) -> None:
        self._answer: Callable[[Answer], None] | None = answer
        self._put_off = put_off

    @property
    def is_complete(self) -> bool:
        return self._answer is None

    def complete(self, value: Answer) -> None:
        """Send the response, unless that has happened."""
        answer, self._answer = self._answer, None
        if answer is not None:
            answer(value)

    def complete_in_turn(self, value: Answer, before: Callable[[], None]) -> None:
        """Send the response after other work, since it is one of many. `before` is called just before it is sent."""
        answer, self._answer = self._answer, None

        def send() -> None:
            before()
            if answer is not None:
                answer(value)

        self._put_off(send)
