"""The consumer protocol in a classic group: subscriptions and assignments.

Theory   A group coordinator need not read them, except for a consumer group (KIP-848) with members that use the classic
         protocol. An unknown newer version is read as the newest known one.
Source   clients/.../consumer/internals/ConsumerProtocol.java; clients/src/main/resources/common/message/
         ConsumerProtocol{Subscription,Assignment}.json @ 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any, Final, NamedTuple

from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.group_records.layout import BYTES, INT32, STRING, StructField, StructLayout, array

HIGHEST_VERSION: Final = 3

_VERSION: Final = Struct(">h")


class NamedTopicPartitions(NamedTuple):
    topic: str
    partitions: Sequence[int]


class Subscription(NamedTuple):
    """A subscription. `user_data` belongs to the client's assignor."""

    topics: Sequence[str]
    user_data: bytes | None = None
    owned_partitions: Sequence[NamedTopicPartitions] = ()
    generation_id: int = -1
    rack_id: str | None = None


class Assignment(NamedTuple):
    partitions: Sequence[NamedTopicPartitions]
    user_data: bytes | None = None


_TOPIC: Final[StructLayout[Any]] = StructLayout(
    NamedTopicPartitions, (StructField("topic", STRING), StructField("partitions", array(INT32)))
)
_SUBSCRIPTION: Final[StructLayout[Subscription]] = StructLayout(
    Subscription,
    (
        StructField("topics", array(STRING)),
        StructField("user_data", BYTES),
        StructField("owned_partitions", array(_TOPIC.type), since=1, default=()),
        StructField("generation_id", INT32, since=2, default=-1),
        StructField("rack_id", STRING, since=3),
    ),
    highest_version=HIGHEST_VERSION,
)
_ASSIGNMENT: Final[StructLayout[Assignment]] = StructLayout(
    Assignment,
    (StructField("partitions", array(_TOPIC.type)), StructField("user_data", BYTES)),
    highest_version=HIGHEST_VERSION,
)


def version_of(data: bytes) -> int:
    """Return the version of a subscription or an assignment. Raises InvalidRecordError if there is none."""
    if len(data) < _VERSION.size:
        raise InvalidRecordError("Buffer underflow while parsing consumer protocol's header")
    return int(_VERSION.unpack_from(data)[0])


def decode_subscription(data: bytes) -> Subscription:
    """Decode a subscription. Raises InvalidRecordError."""
    return _SUBSCRIPTION.decode_value(_as_known(data))


def decode_assignment(data: bytes) -> Assignment:
    """Decode an assignment. Raises InvalidRecordError."""
    return _ASSIGNMENT.decode_value(_as_known(data))


def encode_subscription(subscription: Subscription, version: int = HIGHEST_VERSION) -> bytes:
    return _SUBSCRIPTION.encode_value(subscription, version)


def encode_assignment(assignment: Assignment, version: int = HIGHEST_VERSION) -> bytes:
    """Encode an assignment in this version, or in the newest known one if that is older."""
    return _ASSIGNMENT.encode_value(assignment, min(version, HIGHEST_VERSION))


def _as_known(data: bytes) -> bytes:
    version = version_of(data)
    return data if version <= HIGHEST_VERSION else _VERSION.pack(HIGHEST_VERSION) + data[_VERSION.size :]
