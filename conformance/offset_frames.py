"""Frames for cases of committed offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from conformance.frames import request
from conformance.scenario import placeholder

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, OFFSET_DELETE = 8, 9, 10, 47
TOPIC_IDS_SINCE = 10

# By (topic, partition): an offset, or (offset, leader epoch, metadata).
Offsets = Sequence[tuple[str, int, int | tuple[int, int, str | None]]]


def offset_commit(
    group: str,
    offsets: Offsets,
    *,
    version: int = 9,
    correlation_id: int = 1,
    generation: int = -1,
    member_id: str = "",
    instance_id: str | None = None,
    retention_ms: int = -1,
) -> bytes:
    """Topics in the order given; one that stands there twice with others in between is named twice."""
    topics: list[dict[str, Any]] = []
    for topic, partition, committed in offsets:
        offset, epoch, metadata = committed if isinstance(committed, tuple) else (committed, -1, "")
        if not topics or topics[-1]["name"] != topic:
            topics.append({"name": topic, "topic_id": placeholder(topic), "partitions": []})
        topics[-1]["partitions"].append(
            {
                "partition_index": partition,
                "committed_offset": offset,
                "committed_leader_epoch": epoch,
                "committed_metadata": metadata,
            }
        )
    values = {
        "group_id": group,
        "generation_id_or_member_epoch": generation,
        "member_id": member_id,
        "group_instance_id": instance_id,
        "retention_time": timedelta(milliseconds=retention_ms),
        "topics": topics,
    }
    return request(OFFSET_COMMIT, version, values, correlation_id)


def offset_fetch(
    groups: Mapping[str, Sequence[tuple[str, Sequence[int]]] | None],
    *,
    version: int = 8,
    correlation_id: int = 1,
    require_stable: bool = False,
    member_id: str | None = None,
    member_epoch: int = -1,
) -> bytes:
    """Ask for the offsets of groups: by partitions of topics, or None for all that a group has. One group up to version
    7."""
    group_values = [
        {
            "group_id": group,
            "member_id": member_id,
            "member_epoch": member_epoch,
            "topics": topics
            if topics is None
            else [
                {"name": name, "topic_id": placeholder(name), "partition_indexes": tuple(indexes)}
                for name, indexes in topics
            ],
        }
        for group, topics in groups.items()
    ]
    values: dict[str, Any] = {"groups": group_values} if version >= 8 else group_values[0]
    return request(OFFSET_FETCH, version, values | {"require_stable": require_stable}, correlation_id)


def offset_delete(group: str, topics: Sequence[tuple[str, Sequence[int]]], *, correlation_id: int = 1) -> bytes:
    topic_values = [
        {"name": name, "partitions": [{"partition_index": index} for index in indexes]} for name, indexes in topics
    ]
    return request(OFFSET_DELETE, 0, {"group_id": group, "topics": topic_values}, correlation_id)


def find_coordinators(keys: Sequence[str], *, key_type: int = 0, version: int = 6, correlation_id: int = 1) -> bytes:
    values = {"key": "".join(keys[:1]), "key_type": key_type, "coordinator_keys": tuple(keys)}
    return request(FIND_COORDINATOR, version, values, correlation_id)
