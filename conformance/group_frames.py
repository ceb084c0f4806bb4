"""Frames for cases of groups: requests of members, and what they say to each other.

What a member says of itself, and what it is assigned, is bytes to the broker; cases say `b"..."` where it does not
matter, `subscription` where a broker may look.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.frames import CLIENT_ID, request
from fakebroker.protocol.sent import requests

FIND_COORDINATOR, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, DESCRIBE_GROUPS, LIST_GROUPS = (
    10,
    11,
    12,
    13,
    14,
    15,
    16,
)
DELETE_GROUPS = 42
SESSION_MS = 30_000  # of members for which the session is not the subject of the case


def member(id_of_uuid: str, client_id: str = CLIENT_ID) -> str:
    """The id that Kafka makes of a UUID (`random_ids.random_uuid`): behind the client id, or a static member's
    instance id."""
    return f"{client_id}-{id_of_uuid}"


def subscription(*topics: str) -> bytes:
    """Return the metadata of a consumer, version 0: its topics, no user data."""
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


def join_group(
    group: str,
    member_id: str = "",
    *,
    version: int = 9,
    correlation_id: int = 1,
    protocols: Mapping[str, bytes] | Sequence[tuple[str, bytes]] = (("range", b"range of it"),),
    session_ms: int = SESSION_MS,
    rebalance_ms: int = SESSION_MS,
    instance_id: str | None = None,
    protocol_type: str = "consumer",
    reason: str | None = None,
    client_id: str | None = CLIENT_ID,
) -> bytes:
    items = protocols.items() if isinstance(protocols, Mapping) else protocols
    values = requests.join_group(group, member_id, session_ms, rebalance_ms, items)
    own = {"group_instance_id": instance_id, "protocol_type": protocol_type, "reason": reason}
    return request(JOIN_GROUP, version, values | own, correlation_id, client_id)


def sync_group(
    group: str,
    member_id: str,
    generation: int = 1,
    assignments: Mapping[str, bytes] | None = None,
    *,
    version: int = 5,
    correlation_id: int = 1,
    instance_id: str | None = None,
    protocol_type: str | None = "consumer",
    protocol_name: str | None = "range",
) -> bytes:
    values = requests.sync_group(group, member_id, generation, "", assignments or {})
    own = {"group_instance_id": instance_id, "protocol_type": protocol_type, "protocol_name": protocol_name}
    return request(SYNC_GROUP, version, values | own, correlation_id)


def heartbeat(
    group: str,
    member_id: str,
    generation: int = 1,
    *,
    version: int = 4,
    correlation_id: int = 1,
    instance_id: str | None = None,
) -> bytes:
    values = requests.member(group, member_id, generation) | {"group_instance_id": instance_id}
    return request(HEARTBEAT, version, values, correlation_id)


def leave_group(
    group: str,
    *members: str | tuple[str, str | None],
    version: int = 5,
    correlation_id: int = 1,
    reason: str | None = None,
) -> bytes:
    """Members by their ids, or by (id, instance id); one alone up to version 2."""
    named = [(name, None) if isinstance(name, str) else name for name in members]
    values = {
        "group_id": group,
        "member_id": named[0][0] if named else "",
        "members": [{"member_id": name, "group_instance_id": own, "reason": reason} for name, own in named],
    }
    return request(LEAVE_GROUP, version, values, correlation_id)


def list_groups(
    states: Sequence[str] = (), types: Sequence[str] = (), *, version: int = 5, correlation_id: int = 1
) -> bytes:
    return request(LIST_GROUPS, version, {"states_filter": states, "types_filter": types}, correlation_id)


def describe_groups(
    groups: Sequence[str], *, version: int = 6, correlation_id: int = 1, operations: bool = False
) -> bytes:
    values: dict[str, Any] = {"groups": groups, "include_authorized_operations": operations}
    return request(DESCRIBE_GROUPS, version, values, correlation_id)


def delete_groups(groups: Sequence[str], *, version: int = 2, correlation_id: int = 1) -> bytes:
    return request(DELETE_GROUPS, version, {"groups_names": groups}, correlation_id)


def find_coordinator(*groups: str, version: int = 6, correlation_id: int = 1) -> bytes:
    """Ask for the coordinator of these groups: of only one up to version 3."""
    values = {"key": groups[0], "key_type": 0, "coordinator_keys": groups}
    return request(FIND_COORDINATOR, version, values, correlation_id)
