"""The requests of simulated members, and the content of their responses: FindCoordinator v3, JoinGroup v9, SyncGroup
v5, Heartbeat v4, LeaveGroup v5, OffsetCommit v9, OffsetFetch v8, ConsumerGroupHeartbeat v1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from fakebroker.protocol.batch_layout import LOG_OVERHEAD
from fakebroker.protocol.messages import decode_response
from fakebroker.protocol.record_batch import read_batch_header
from fakebroker.protocol.sent.group_frames import BEAT, COMMIT, FIND, JOIN, LEAVE, SYNC, GroupFrames
from fakebroker.protocol.sent.requests import Place
from fakebroker.testing.wire import CLIENT_ID, FETCH, FETCH_VERSION

OFFSETS, CONSUMER_BEAT = 9, 68
__all__ = [
    "BEAT", "COMMIT", "CONSUMER_BEAT", "FIND", "JOIN", "LEAVE", "OFFSETS", "SYNC", "Place", "answered", "commit",
    "consumer_heartbeat", "fetch_offsets", "find_coordinator", "heartbeat", "join", "leave", "offsets_in", "places_in",
    "sync",
]  # fmt: skip
_VERSIONS = {FIND: 3, JOIN: 9, BEAT: 4, LEAVE: 5, SYNC: 5, COMMIT: 9, OFFSETS: 8, CONSUMER_BEAT: 1}


_FRAMES = GroupFrames(CLIENT_ID, _VERSIONS)
answered, find_coordinator, join = _FRAMES.answered, _FRAMES.find_coordinator, _FRAMES.join
heartbeat, leave, commit = _FRAMES.heartbeat, _FRAMES.leave, _FRAMES.commit


def sync(number: int, group: str, member_id: str, generation: int, shares: Mapping[str, Sequence[Place]]) -> bytes:
    """Return a SyncGroup request. The assignments are text in our own format, as the broker does not read them."""
    assignments = {
        name: ",".join(f"{topic}:{index}" for topic, index in places).encode() for name, places in shares.items()
    }
    return _FRAMES.sync(number, group, member_id, generation, assignments)


def places_in(assignment: bytes) -> list[Place]:
    pairs = [text.rsplit(":", 1) for text in assignment.decode().split(",") if text]
    return [(topic, int(index)) for topic, index in pairs]


def consumer_heartbeat(
    number: int,
    group: str,
    member_id: str,
    epoch: int,
    rebalance_ms: int,
    topic: str,
    owned: Mapping[UUID, Sequence[int]],
) -> bytes:
    """Return a full heartbeat, as clients send it first and after an error."""
    joins = epoch == 0
    values = {
        "group_id": group,
        "member_id": member_id,
        "member_epoch": epoch,
        "rebalance_timeout": timedelta(milliseconds=rebalance_ms if joins else -1),
        "subscribed_topic_names": (topic,) if joins else None,
        "topic_partitions": [{"topic_id": topic_id, "partitions": tuple(parts)} for topic_id, parts in owned.items()],
    }
    return _FRAMES.request(CONSUMER_BEAT, number, values)


def fetch_offsets(number: int, group: str, places: Sequence[Place]) -> bytes:
    names = sorted({topic for topic, _ in places})
    topics = [{"name": name, "partition_indexes": [i for topic, i in places if topic == name]} for name in names]
    values = {"groups": [{"group_id": group, "topics": topics}], "require_stable": True}
    return _FRAMES.request(OFFSETS, number, values)


def offsets_in(frame: bytes) -> tuple[int, list[int]]:
    """Return (error, offset of each record) of a Fetch v10 response for one partition."""
    response: Any = decode_response(FETCH, FETCH_VERSION, frame)[1]
    [topic] = response.responses
    [partition] = topic.partitions
    records, at = bytes(partition.records or b""), 0
    offsets: list[int] = []
    while at < len(records):
        header = read_batch_header(records, at)
        offsets += range(header.base_offset, header.last_offset + 1)
        at += LOG_OVERHEAD + header.batch_length
    return int(partition.error_code), offsets
