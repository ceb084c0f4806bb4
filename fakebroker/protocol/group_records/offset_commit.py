"""The record of a committed offset: kind 1. Kind 0, with the same fields, is what Kafka wrote before 0.9."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from fakebroker.protocol.group_records.layout import INT32, INT64, STRING, UUID_, StructField, StructLayout

ZERO_ID: Final = UUID(int=0)
NONE: Final = -1  # no leader epoch, no time of expiry


@dataclass(frozen=True, slots=True)
class OffsetCommitKey:
    group: str
    topic: str
    partition: int

    def encode(self) -> bytes:
        return KEY.encode(self, 1)


@dataclass(frozen=True, slots=True)
class OffsetCommitValue:
    """The value of the record. Times are wall milliseconds. `expire_timestamp_ms` is requested by clients up to
    OffsetCommit v4, else -1."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NONE
    topic_id: UUID = ZERO_ID

    @property
    def version(self) -> int:
        """Return the version; only 1 has an expiry time."""
        return 4 if self.expire_timestamp_ms == NONE else 1

    def encode(self) -> bytes:
        return VALUE.encode_value(self, self.version)


KEY: Final = StructLayout(
    OffsetCommitKey, (StructField("group", STRING), StructField("topic", STRING), StructField("partition", INT32))
)

VALUE: Final = StructLayout(
    OffsetCommitValue,
    (
        StructField("offset", INT64),
        StructField("leader_epoch", INT32, since=3, default=NONE),
        StructField("metadata", STRING),
        StructField("commit_timestamp_ms", INT64),
        StructField("expire_timestamp_ms", INT64, since=1, until=1, default=NONE),
        StructField("topic_id", UUID_, since=4, default=ZERO_ID, tag=0),
    ),
    highest_version=4,
    flexible_since=4,
)
