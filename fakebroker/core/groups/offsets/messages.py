"""Requests and responses about committed offsets, for all versions of the protocol."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.group_records.offset_commit import ZERO_ID


class OffsetToCommit(NamedTuple):
    partition: int
    offset: int
    leader_epoch: int
    metadata: str | None


class TopicToCommit(NamedTuple):
    """A topic of an OffsetCommit. An id of zeros means no id."""

    name: str
    topic_id: UUID
    partitions: Sequence[OffsetToCommit]


class OffsetCommit(NamedTuple):
    """An OffsetCommit or TxnOffsetCommit request. `retention_time_ms` is -1 if the client sent none. `producer` is the
    id and epoch of the producer of a transaction."""

    group_id: str
    member_id: str
    group_instance_id: str | None
    generation_or_epoch: int
    retention_time_ms: int
    version: int
    topics: Sequence[TopicToCommit]
    producer: tuple[int, int] | None = None


class TopicErrors(NamedTuple):
    """The error codes of a topic, by partition."""

    name: str
    topic_id: UUID
    partitions: Collection[tuple[int, ErrorCode]]


class TopicToFetch(NamedTuple):
    name: str
    topic_id: UUID
    partitions: Sequence[int]


class OffsetFetch(NamedTuple):
    """An OffsetFetch of one group. `topics` of None means all."""

    group_id: str
    member_id: str | None
    member_epoch: int
    topics: Sequence[TopicToFetch] | None


class FetchedOffset(NamedTuple):
    """A committed offset in a response; `offset` is -1 if there is none."""

    partition: int
    offset: int = -1
    leader_epoch: int = -1
    metadata: str = ""
    error: ErrorCode = ErrorCode.none


class FetchedTopic(NamedTuple):
    name: str
    topic_id: UUID
    partitions: Collection[FetchedOffset]


class TopicPartitions(NamedTuple):
    name: str
    partitions: Sequence[int]
    topic_id: UUID = ZERO_ID


__all__ = [
    "ZERO_ID",
    "FetchedOffset",
    "FetchedTopic",
    "OffsetCommit",
    "OffsetFetch",
    "OffsetToCommit",
    "TopicErrors",
    "TopicPartitions",
    "TopicToCommit",
    "TopicToFetch",
]
