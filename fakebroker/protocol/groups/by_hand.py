"""Readers of JoinGroup (versions 0 to 9), SyncGroup (0 to 5) and Heartbeat (0 to 4) requests by hand.

A rebalance of 1,000 members is 1,000 of each at once. Unusual requests (a null, a tagged field, bytes that end) are
left to the general reader, which reports errors. Long ones are left to it as well, since it works in slices.
"""

from __future__ import annotations

from typing import Final

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.groups.fields import Fields
from fakebroker.protocol.groups.requests import HeartbeatRequest, JoinGroupRequest, MemberProtocol, SyncRequest
from fakebroker.protocol.large_frame import LargeFrame

_MANY: Final = 2_000  # elements, which take less than 1 ms here
_LARGE_BYTES: Final = 1_048_576


def read_join_group(version: int, frame: bytes | LargeFrame, offset: int) -> JoinGroupRequest | None:
    """Read the body at the offset, of a request without nulls, tags and large counts. Return None for any other, and
    for a malformed one."""
    if len(frame) > _LARGE_BYTES:
        return None
    try:
        return _join_group(version, Fields(_whole(frame), offset, version >= 6))
    except (IndexError, UnicodeDecodeError, ProtocolError):
        return None


def read_sync_group(version: int, frame: bytes | LargeFrame, offset: int) -> SyncRequest | None:
    """Read the body at the offset; None as in `read_join_group`."""
    if len(frame) > _LARGE_BYTES:
        return None
    try:
        return _sync_group(version, Fields(_whole(frame), offset, version >= 4))
    except (IndexError, UnicodeDecodeError, ProtocolError):
        return None


def read_heartbeat(version: int, frame: bytes | LargeFrame, offset: int) -> HeartbeatRequest | None:
    """Read the body at the offset; None as in `read_join_group`."""
    if not isinstance(frame, bytes):
        return None
    try:
        return _heartbeat(version, Fields(frame, offset, version >= 4))
    except (IndexError, UnicodeDecodeError, ProtocolError):
        return None


def _whole(frame: bytes | LargeFrame) -> bytes:
    return frame if isinstance(frame, bytes) else frame.join()


def _join_group(version: int, fields: Fields) -> JoinGroupRequest | None:
    group_id = fields.text()
    session_timeout_ms = fields.i32()
    rebalance_timeout_ms = fields.i32() if version >= 1 else session_timeout_ms
    member_id = fields.text()
    group_instance_id = fields.text_or_none() if version >= 5 else None
    protocol_type = fields.text()
    count = fields.count()
    if count > _MANY:
        return None
    protocols: list[MemberProtocol] = []
    for _ in range(count):
        name = fields.text()
        protocols.append(MemberProtocol(name, fields.data()))
        fields.end()
    reason = fields.text_or_none() if version >= 8 else None
    fields.end()
    return JoinGroupRequest(
        group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type,
        tuple(protocols), reason,
    )  # fmt: skip


def _sync_group(version: int, fields: Fields) -> SyncRequest | None:
    group_id = fields.text()
    generation_id = fields.i32()
    member_id = fields.text()
    group_instance_id = fields.text_or_none() if version >= 3 else None
    protocol_type = fields.text_or_none() if version >= 5 else None
    protocol_name = fields.text_or_none() if version >= 5 else None
    count = fields.count()
    if count > _MANY:
        return None
    assignments: dict[str, bytes] = {}
    for _ in range(count):
        assigned_to = fields.text()
        assignments[assigned_to] = fields.data()
        fields.end()
    fields.end()
    return SyncRequest(group_id, generation_id, member_id, group_instance_id, protocol_type, protocol_name, assignments)


def _heartbeat(version: int, fields: Fields) -> HeartbeatRequest:
    group_id = fields.text()
    generation_id = fields.i32()
    member_id = fields.text()
    group_instance_id = fields.text_or_none() if version >= 3 else None
    fields.end()
    return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id)
