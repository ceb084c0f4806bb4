"""Requests of simulated members, and what their answers say: FindCoordinator v3, JoinGroup v9, SyncGroup v5,
Heartbeat v4, LeaveGroup v5, OffsetCommit v9, OffsetFetch v8, ConsumerGroupHeartbeat v1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from fakebroker.protocol.batch_layout import LOG_OVERHEAD
from fakebroker.protocol.build import build
from fakebroker.protocol.messages import decode_response, encode_request, request_type
from fakebroker.protocol.record_batch import read_batch_header
from fakebroker.testing.wire import CLIENT_ID, FETCH, FETCH_VERSION

FIND, JOIN, BEAT, LEAVE, SYNC, COMMIT, OFFSETS, CONSUMER_BEAT = 10, 11, 12, 13, 14, 8, 9, 68
_VERSIONS = {FIND: 3, JOIN: 9, BEAT: 4, LEAVE: 5, SYNC: 5, COMMIT: 9, OFFSETS: 8, CONSUMER_BEAT: 1}
_PROTOCOL = "range"

Place = tuple[str, int]


def answered(api: int, frame: bytes) -> Any:
    return decode_response(api, _VERSIONS[api], frame)[1]


def find_coordinator(number: int, group: str) -> bytes:
    return _request(FIND, number, {"key": group, "key_type": 0})


def join(number: int, group: str, member_id: str, session_ms: int, rebalance_ms: int) -> bytes:
    values = {
        "group_id": group,
        "session_timeout": timedelta(milliseconds=session_ms),
        "rebalance_timeout": timedelta(milliseconds=rebalance_ms),
        "member_id": member_id,
        "group_instance_id": None,
        "protocol_type": "consumer",
        "protocols": [{"name": _PROTOCOL, "metadata": b""}],
        "reason": None,
    }
    return _request(JOIN, number, values)


def sync(number: int, group: str, member_id: str, generation: int, shares: Mapping[str, Sequence[Place]]) -> bytes:
    """The assignments are text of our own: the broker does not look."""
    assignments = [
        {"member_id": name, "assignment": ",".join(f"{topic}:{index}" for topic, index in places).encode()}
        for name, places in shares.items()
    ]
    values = {
        "group_id": group,
        "generation_id": generation,
        "member_id": member_id,
        "group_instance_id": None,
        "protocol_type": "consumer",
        "protocol_name": _PROTOCOL,
        "assignments": assignments,
    }
    return _request(SYNC, number, values)


def places_in(assignment: bytes) -> list[Place]:
    pairs = [text.rsplit(":", 1) for text in assignment.decode().split(",") if text]
    return [(topic, int(index)) for topic, index in pairs]


def heartbeat(number: int, group: str, member_id: str, generation: int) -> bytes:
    values = {"group_id": group, "generation_id": generation, "member_id": member_id, "group_instance_id": None}
    return _request(BEAT, number, values)


def leave(number: int, group: str, member_id: str) -> bytes:
    member = {"member_id": member_id, "group_instance_id": None, "reason": None}
    return _request(LEAVE, number, {"group_id": group, "members": [member]})


def consumer_heartbeat(
    number: int,
    group: str,
    member_id: str,
    epoch: int,
    rebalance_ms: int,
    topic: str,
    owned: Mapping[UUID, Sequence[int]],
) -> bytes:
    """A whole one, as a client sends it first and after an error."""
    joins = epoch == 0
    values = {
        "group_id": group,
        "member_id": member_id,
        "member_epoch": epoch,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout": timedelta(milliseconds=rebalance_ms if joins else -1),
        "subscribed_topic_names": (topic,) if joins else None,
        "subscribed_topic_regex": None,
        "server_assignor": None,
        "topic_partitions": [{"topic_id": each, "partitions": tuple(parts)} for each, parts in owned.items()],
    }
    return _request(CONSUMER_BEAT, number, values)


def commit(number: int, group: str, member_id: str, generation: int, offsets: Mapping[Place, int]) -> bytes:
    topics: dict[str, list[dict[str, Any]]] = {}
    for (topic, index), offset in offsets.items():
        part = {
            "partition_index": index,
            "committed_offset": offset,
            "committed_leader_epoch": -1,
            "committed_metadata": "",
        }
        topics.setdefault(topic, []).append(part)
    values = {
        "group_id": group,
        "generation_id_or_member_epoch": generation,
        "member_id": member_id,
        "group_instance_id": None,
        "topics": [{"name": topic, "partitions": parts} for topic, parts in topics.items()],
    }
    return _request(COMMIT, number, values)


def fetch_offsets(number: int, group: str, places: Sequence[Place]) -> bytes:
    names = sorted({topic for topic, _ in places})
    topics = [{"name": name, "partition_indexes": [i for topic, i in places if topic == name]} for name in names]
    values = {"groups": [{"group_id": group, "topics": topics}], "require_stable": True}
    return _request(OFFSETS, number, values)


def offsets_in(frame: bytes) -> tuple[int, list[int]]:
    """(error, offset of each record) of a Fetch v10 for one partition."""
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


def _request(api: int, number: int, values: Mapping[str, Any]) -> bytes:
    return encode_request(build(request_type(api, _VERSIONS[api]), dict(values)), number, CLIENT_ID)
