"""Requests of members of classic groups."""

from __future__ import annotations

from typing import NamedTuple


class MemberProtocol(NamedTuple):
    """An assignor that a member supports, and the member's metadata for it."""

    name: str
    metadata: bytes


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
