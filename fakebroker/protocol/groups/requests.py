"""Requests of members of classic groups."""

from __future__ import annotations

from typing import NamedTuple

from fakebroker.protocol.group_records.many_names import Names


class MemberProtocol(NamedTuple):
    """An assignor that a member supports, and the member's metadata for it.

    topics  those of a consumer's metadata, `()` if they cannot be read, None if they were not read yet
    """

    name: str
    metadata: bytes
    topics: tuple[Names] | tuple[()] | None = None

    def __eq__(self, other: object) -> bool:
        """Compare without the topics, which follow from the metadata."""
        return isinstance(other, MemberProtocol) and self[:2] == other[:2]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:2])


class JoinGroupRequest(NamedTuple):
    """A JoinGroup request. In version 0 one timeout is used for both."""

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: tuple[MemberProtocol, ...]
    reason: str | None


class SyncRequest(NamedTuple):
    """A SyncGroup request; `assignments` by member id, from the leader."""

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
