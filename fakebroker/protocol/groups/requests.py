"""What members of classic groups ask.

Units    milliseconds.
Source   clients/src/main/resources/common/message/{JoinGroup,SyncGroup,Heartbeat}Request.json @ 4.4
"""

from __future__ import annotations

from typing import NamedTuple

from fakebroker.protocol.group_records.many_names import Names


class MemberProtocol(NamedTuple):
    """A way to assign that a member knows, and what it says of itself for it.

    topics  those of a consumer's metadata, `()` if these cannot be read, None if nobody has looked
    """

    name: str
    metadata: bytes
    topics: tuple[Names] | tuple[()] | None = None

    def __eq__(self, other: object) -> bool:
        """The topics follow from the metadata."""
        return isinstance(other, MemberProtocol) and self[:2] == other[:2]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:2])


class JoinGroupRequest(NamedTuple):
    """A JoinGroup. In version 0 there is one timeout for both."""

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: tuple[MemberProtocol, ...]
    reason: str | None


class SyncRequest(NamedTuple):
    """A SyncGroup; `assignments` by member id, from the leader."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None
    assignments: dict[str, bytes]


class HeartbeatRequest(NamedTuple):
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
