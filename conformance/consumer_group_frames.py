"""Frames and steps for cases of consumer groups (KIP-848): members that call, one request after the other.

A heartbeat gets its response at once, so no member waits for another. Members make their own ids; in version 0 a broker
may.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from conformance.frames import CLIENT_ID, request
from conformance.scenario import Send, Settle, Step, placeholder

CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE = 68, 69
REBALANCE_MS = 30_000

Owned = Mapping[str, Sequence[int]]  # by the name of the topic


def heartbeat(
    group: str,
    member_id: str,
    epoch: int,
    *,
    version: int = 1,
    correlation_id: int = 1,
    instance_id: str | None = None,
    rack_id: str | None = None,
    rebalance_ms: int = -1,
    topics: Sequence[str] | None = None,
    regex: str | None = None,
    assignor: str | None = None,
    owned: Owned | Sequence[tuple[UUID, Sequence[int]]] | None = None,
    client_id: str | None = CLIENT_ID,
) -> bytes:
    """Return the frame of a heartbeat. A field that is None, or -1, has not changed."""
    held = [(placeholder(topic), parts) for topic, parts in owned.items()] if isinstance(owned, Mapping) else owned
    values: dict[str, Any] = {
        "group_id": group,
        "member_id": member_id,
        "member_epoch": epoch,
        "instance_id": instance_id,
        "rack_id": rack_id,
        "rebalance_timeout": timedelta(milliseconds=rebalance_ms),
        "subscribed_topic_names": None if topics is None else tuple(topics),
        "subscribed_topic_regex": regex,
        "server_assignor": assignor,
        "topic_partitions": (
            None if held is None else [{"topic_id": topic, "partitions": tuple(parts)} for topic, parts in held]
        ),
    }
    return request(CONSUMER_GROUP_HEARTBEAT, version, values, correlation_id, client_id)


def join(group: str, member_id: str, *topics: str, **values: Any) -> bytes:
    """A first heartbeat; subscribed to `topics` unless it says a pattern."""
    said: dict[str, Any] = {"rebalance_ms": REBALANCE_MS, "owned": {}}
    if topics or "regex" not in values:
        said["topics"] = topics
    return heartbeat(group, member_id, 0, **said | values)


def describe(*groups: str, version: int = 1, correlation_id: int = 1, operations: bool = False) -> bytes:
    values = {"group_ids": groups, "include_authorized_operations": operations}
    return request(CONSUMER_GROUP_DESCRIBE, version, values, correlation_id)


def one_by_one(*frames: bytes, conn: str = "a") -> tuple[Step, ...]:
    """Each is sent when the one before is answered."""
    return tuple(step for frame in frames for step in (Send((frame,), conn), Settle(conn)))
