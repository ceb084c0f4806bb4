"""What is asked of committed offsets, and what is answered, for all versions of the protocol."""

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
    """The id of zeros stands for none."""

    name: str
    topic_id: UUID
    partitions: Sequence[OffsetToCommit]


class OffsetCommit(NamedTuple):
    """`retention_time_ms` is -1 where the client did not say for how long. `producer` is the id and epoch of whoever
    commits in a transaction."""

    group_id: str
    member_id: str
    group_instance_id: str | None
    generation_or_epoch: int
    retention_time_ms: int
    version: int
    topics: Sequence[TopicToCommit]
    producer: tuple[int, int] | None = None


class TopicErrors(NamedTuple):
    """By partition."""

    name: str
    topic_id: UUID
    partitions: Collection[tuple[int, ErrorCode]]


class TopicToFetch(NamedTuple):
    name: str
    topic_id: UUID
    partitions: Sequence[int]


class OffsetFetch(NamedTuple):
    """Of one group; None as topics means all that it has."""

    group_id: str
    member_id: str | None
    member_epoch: int
    topics: Sequence[TopicToFetch] | None


class FetchedOffset(NamedTuple):
    """-1 as offset: there is none."""

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
