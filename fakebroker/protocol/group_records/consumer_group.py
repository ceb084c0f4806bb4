"""Records of consumer groups (KIP-848): kinds 3 to 8, and 16.

Theory   3: the epoch of a group. 5: a member's own metadata. 6 and 7: the target assignment, its epoch and that of each
         member. 8: the current assignment of a member. 16: the topics that match a pattern. 4 was written until 4.0;
         one that is found is deleted.
Source   group-coordinator/src/main/resources/common/message/ConsumerGroup{Metadata,PartitionMetadata,MemberMetadata,
         TargetAssignmentMetadata,TargetAssignmentMember,CurrentMemberAssignment,RegularExpression}{Key,Value}.json @
         4.4.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from uuid import UUID

from fakebroker.protocol.group_records.layout import (
    BYTES,
    INT8,
    INT32,
    INT64,
    STRING,
    UUID_,
    StructField,
    StructLayout,
    array,
    nullable,
)


@dataclass(frozen=True, slots=True)
class ConsumerGroupMetadataKey:
    group_id: str

    def encode(self) -> bytes:
        return GROUP_KEY.encode(self, 3)


class ConsumerGroupMetadataValue(NamedTuple):
    epoch: int
    metadata_hash: int = 0

    def encode(self) -> bytes:
        return GROUP.encode_value(self, 0)


@dataclass(frozen=True, slots=True)
class ConsumerGroupPartitionMetadataKey:
    group_id: str

    def encode(self) -> bytes:
        return PARTITION_METADATA_KEY.encode(self, 4)


class ConsumerGroupPartitionMetadata(NamedTuple):
    partition: int
    racks: Sequence[str]


class ConsumerGroupTopicMetadata(NamedTuple):
    topic_id: UUID
    topic_name: str
    num_partitions: int
    partition_metadata: Sequence[ConsumerGroupPartitionMetadata]


class ConsumerGroupPartitionMetadataValue(NamedTuple):
    topics: Sequence[ConsumerGroupTopicMetadata]

    def encode(self) -> bytes:
        return PARTITION_METADATA.encode_value(self, 0)


@dataclass(frozen=True, slots=True)
class ConsumerGroupMemberMetadataKey:
    group_id: str
    member_id: str

    def encode(self) -> bytes:
        return MEMBER_KEY.encode(self, 5)


class ClassicProtocolValue(NamedTuple):
    name: str
    metadata: bytes


class ClassicMemberMetadataValue(NamedTuple):
    session_timeout_ms: int
    supported_protocols: Sequence[ClassicProtocolValue]


class ConsumerGroupMemberMetadataValue(NamedTuple):
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: Collection[str]
    subscribed_topic_regex: str | None
    rebalance_timeout_ms: int
    server_assignor: str | None
    classic_member_metadata: ClassicMemberMetadataValue | None = None

    def encode(self) -> bytes:
        return MEMBER.encode_value(self, 0)


@dataclass(frozen=True, slots=True)
class ConsumerGroupTargetAssignmentMetadataKey:
    group_id: str

    def encode(self) -> bytes:
        return TARGET_METADATA_KEY.encode(self, 6)


class ConsumerGroupTargetAssignmentMetadataValue(NamedTuple):
    assignment_epoch: int
    assignment_timestamp_ms: int = 0

    def encode(self) -> bytes:
        return TARGET_METADATA.encode_value(self, 0)


@dataclass(frozen=True, slots=True)
class ConsumerGroupTargetAssignmentMemberKey:
    group_id: str
    member_id: str

    def encode(self) -> bytes:
        return TARGET_KEY.encode(self, 7)


class TargetTopicPartitions(NamedTuple):
    topic_id: UUID
    partitions: Sequence[int]


class ConsumerGroupTargetAssignmentMemberValue(NamedTuple):
    topic_partitions: Sequence[TargetTopicPartitions]

    def encode(self) -> bytes:
        return TARGET.encode_value(self, 0)


@dataclass(frozen=True, slots=True)
class ConsumerGroupCurrentMemberAssignmentKey:
    group_id: str
    member_id: str

    def encode(self) -> bytes:
        return CURRENT_KEY.encode(self, 8)


class CurrentTopicPartitions(NamedTuple):
    """Partitions of a topic. `assignment_epochs` has one for each partition; records of 4.3 and earlier have none."""

    topic_id: UUID
    partitions: Sequence[int]
    assignment_epochs: Sequence[int] | None = None


class ConsumerGroupCurrentMemberAssignmentValue(NamedTuple):
    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: Sequence[CurrentTopicPartitions]
    partitions_pending_revocation: Sequence[CurrentTopicPartitions]

    def encode(self) -> bytes:
        return CURRENT.encode_value(self, 0)


@dataclass(frozen=True, slots=True)
class ConsumerGroupRegularExpressionKey:
    group_id: str
    regular_expression: str

    def encode(self) -> bytes:
        return REGULAR_EXPRESSION_KEY.encode(self, 16)


class ConsumerGroupRegularExpressionValue(NamedTuple):
    topics: Sequence[str]
    version: int
    timestamp_ms: int

    def encode(self) -> bytes:
        return REGULAR_EXPRESSION.encode_value(self, 0)


def _value(make: Any, *fields: StructField) -> StructLayout[Any]:
    """Return the layout of a value. All have one version, which is flexible."""
    return StructLayout(make, fields, highest_version=0, flexible_since=0)


def _key(make: Any, *names: str) -> StructLayout[Any]:
    return StructLayout(make, [StructField(name, STRING) for name in names])


_PARTITION_METADATA = _value(
    ConsumerGroupPartitionMetadata, StructField("partition", INT32), StructField("racks", array(STRING))
)
_TOPIC_METADATA = _value(
    ConsumerGroupTopicMetadata,
    StructField("topic_id", UUID_),
    StructField("topic_name", STRING),
    StructField("num_partitions", INT32),
    StructField("partition_metadata", array(_PARTITION_METADATA.type)),
)
_CLASSIC_PROTOCOL = _value(ClassicProtocolValue, StructField("name", STRING), StructField("metadata", BYTES))
_CLASSIC_MEMBER = _value(
    ClassicMemberMetadataValue,
    StructField("session_timeout_ms", INT32),
    StructField("supported_protocols", array(_CLASSIC_PROTOCOL.type)),
)
_TARGET_PARTITIONS = _value(
    TargetTopicPartitions, StructField("topic_id", UUID_), StructField("partitions", array(INT32))
)
_CURRENT_PARTITIONS = _value(
    CurrentTopicPartitions,
    StructField("topic_id", UUID_),
    StructField("partitions", array(INT32)),
    StructField("assignment_epochs", array(INT32), tag=0),
)

GROUP_KEY: Final = _key(ConsumerGroupMetadataKey, "group_id")
GROUP: Final = _value(
    ConsumerGroupMetadataValue, StructField("epoch", INT32), StructField("metadata_hash", INT64, default=0, tag=0)
)
PARTITION_METADATA_KEY: Final = _key(ConsumerGroupPartitionMetadataKey, "group_id")
PARTITION_METADATA: Final = _value(
    ConsumerGroupPartitionMetadataValue, StructField("topics", array(_TOPIC_METADATA.type))
)
MEMBER_KEY: Final = _key(ConsumerGroupMemberMetadataKey, "group_id", "member_id")
MEMBER: Final = _value(
    ConsumerGroupMemberMetadataValue,
    StructField("instance_id", STRING),
    StructField("rack_id", STRING),
    StructField("client_id", STRING),
    StructField("client_host", STRING),
    StructField("subscribed_topic_names", array(STRING)),
    StructField("subscribed_topic_regex", STRING),
    StructField("rebalance_timeout_ms", INT32),
    StructField("server_assignor", STRING),
    StructField("classic_member_metadata", nullable(_CLASSIC_MEMBER.type), tag=0),
)
TARGET_METADATA_KEY: Final = _key(ConsumerGroupTargetAssignmentMetadataKey, "group_id")
TARGET_METADATA: Final = _value(
    ConsumerGroupTargetAssignmentMetadataValue,
    StructField("assignment_epoch", INT32),
    StructField("assignment_timestamp_ms", INT64, default=0, tag=0),
)
TARGET_KEY: Final = _key(ConsumerGroupTargetAssignmentMemberKey, "group_id", "member_id")
TARGET: Final = _value(
    ConsumerGroupTargetAssignmentMemberValue, StructField("topic_partitions", array(_TARGET_PARTITIONS.type))
)
CURRENT_KEY: Final = _key(ConsumerGroupCurrentMemberAssignmentKey, "group_id", "member_id")
CURRENT: Final = _value(
    ConsumerGroupCurrentMemberAssignmentValue,
    StructField("member_epoch", INT32),
    StructField("previous_member_epoch", INT32),
    StructField("state", INT8),
    StructField("assigned_partitions", array(_CURRENT_PARTITIONS.type)),
    StructField("partitions_pending_revocation", array(_CURRENT_PARTITIONS.type)),
)
REGULAR_EXPRESSION_KEY: Final = _key(ConsumerGroupRegularExpressionKey, "group_id", "regular_expression")
REGULAR_EXPRESSION: Final = _value(
    ConsumerGroupRegularExpressionValue,
    StructField("topics", array(STRING)),
    StructField("version", INT64),
    StructField("timestamp_ms", INT64),
)

LAYOUTS: Final = {
    3: (GROUP_KEY, GROUP),
    4: (PARTITION_METADATA_KEY, PARTITION_METADATA),
    5: (MEMBER_KEY, MEMBER),
    6: (TARGET_METADATA_KEY, TARGET_METADATA),
    7: (TARGET_KEY, TARGET),
    8: (CURRENT_KEY, CURRENT),
    16: (REGULAR_EXPRESSION_KEY, REGULAR_EXPRESSION),
}
