"""The fields of requests that clients of several kinds send, for `messages.request_frame`.

Theory   Simulations, tests, the load, conformance and benchmarks each choose versions and a client id; the fields are
         the same. Fields that are not named here have Kafka's defaults.
Units    *_ms is milliseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

Place = tuple[str, int]
Values = dict[str, Any]


def fetch(
    topic: str | UUID,
    partition: int,
    offset: int,
    *,
    max_bytes: int,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    isolation_level: int = 0,
    **of_partition: int,
) -> Values:
    """Return a consumer's Fetch of one partition; a UUID names the topic since v13."""
    part = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": max_bytes, **of_partition}
    named = {"topic_id": topic} if isinstance(topic, UUID) else {"topic": topic}
    return {
        "max_wait": timedelta(milliseconds=max_wait_ms),
        "min_bytes": min_bytes,
        "max_bytes": max_bytes,
        "isolation_level": isolation_level,
        "topics": [named | {"partitions": [part]}],
    }


def join_group(
    group: str, member_id: str, session_ms: int, rebalance_ms: int, protocols: Iterable[tuple[str, bytes]]
) -> Values:
    """Return a JoinGroup of a consumer. `protocols` are names of assignors, and the metadata for each."""
    return {
        "group_id": group,
        "session_timeout": timedelta(milliseconds=session_ms),
        "rebalance_timeout": timedelta(milliseconds=rebalance_ms),
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [{"name": name, "metadata": metadata} for name, metadata in protocols],
    }


def member(group: str, member_id: str, generation: int) -> Values:
    """Return what a Heartbeat has, and a SyncGroup of a member that does not lead."""
    return {"group_id": group, "generation_id": generation, "member_id": member_id}


def sync_group(group: str, member_id: str, generation: int, protocol: str, assignments: Mapping[str, bytes]) -> Values:
    """Return a SyncGroup. `assignments` of the leader by member; other members send none."""
    return {
        **member(group, member_id, generation),
        "protocol_type": "consumer",
        "protocol_name": protocol,
        "assignments": [{"member_id": name, "assignment": data} for name, data in assignments.items()],
    }


def committed_topics(offsets: Iterable[tuple[str, int, int]]) -> list[Values]:
    """Return the topics of an OffsetCommit or a TxnOffsetCommit. Offsets are (topic, partition, offset)."""
    topics: dict[str, list[Values]] = {}
    for topic, index, offset in offsets:
        topics.setdefault(topic, []).append({"partition_index": index, "committed_offset": offset})
    return [{"name": topic, "partitions": parts} for topic, parts in topics.items()]


def offset_commit(group: str, member_id: str, generation: int, offsets: Iterable[tuple[str, int, int]]) -> Values:
    return {
        "group_id": group,
        "generation_id_or_member_epoch": generation,
        "member_id": member_id,
        "topics": committed_topics(offsets),
    }


def add_partitions(
    transactional_id: str, producer_id: int, epoch: int, partitions: Mapping[str, Collection[int]]
) -> Values:
    """Return a producer's AddPartitionsToTxn, up to v3. Partitions are by topic."""
    return {
        "v3_and_below_transactional_id": transactional_id,
        "v3_and_below_producer_id": producer_id,
        "v3_and_below_producer_epoch": epoch,
        "v3_and_below_topics": [{"name": name, "partitions": indexes} for name, indexes in partitions.items()],
    }


def transactional(transactional_id: str | None, producer_id: int, epoch: int, **values: Any) -> Values:
    """Return the fields of a producer's identity, with more: InitProducerId, AddOffsetsToTxn, EndTxn and
    TxnOffsetCommit have them."""
    identity = {"transactional_id": transactional_id, "producer_id": producer_id, "producer_epoch": epoch}
    return identity | values
