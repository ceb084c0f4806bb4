"""The record of a classic group as of its last generation: kind 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fakebroker.protocol.group_records.layout import BYTES, INT32, INT64, STRING, StructField, StructLayout, array

NONE: Final = -1  # no timestamp, no rebalance timeout: older versions lack them
_VERSION: Final = 3  # the version that Kafka writes


@dataclass(frozen=True, slots=True)
class GroupMetadataKey:
    group: str

    def encode(self) -> bytes:
        return KEY.encode(self, 2)


@dataclass(frozen=True, slots=True)
class MemberMetadata:
    """A member. `subscription` is its metadata for the group's protocol. Timeouts are milliseconds."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupMetadataValue:
    """The value of the record. `current_state_timestamp_ms` is wall time. Without members there is neither protocol nor
    leader."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp_ms: int
    members: tuple[MemberMetadata, ...]

    def encode(self) -> bytes:
        return VALUE.encode_value(self, _VERSION)


_MEMBER: Final = StructLayout(
    MemberMetadata,
    (
        StructField("member_id", STRING),
        StructField("group_instance_id", STRING, since=3),
        StructField("client_id", STRING),
        StructField("client_host", STRING),
        StructField("rebalance_timeout_ms", INT32, since=1, default=NONE),
        StructField("session_timeout_ms", INT32),
        StructField("subscription", BYTES),
        StructField("assignment", BYTES),
    ),
)

KEY: Final = StructLayout(GroupMetadataKey, (StructField("group", STRING),))

VALUE: Final = StructLayout(
    GroupMetadataValue,
    (
        StructField("protocol_type", STRING),
        StructField("generation", INT32),
        StructField("protocol", STRING),
        StructField("leader", STRING),
        StructField("current_state_timestamp_ms", INT64, since=2, default=NONE),
        StructField("members", array(_MEMBER.type)),
    ),
    highest_version=4,
    flexible_since=4,
)
