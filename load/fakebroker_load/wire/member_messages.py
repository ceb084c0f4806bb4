"""The requests of a classic member, in versions that every Kafka since 2.5 reads, and the range assignor of its leader.

Source   clients/.../consumer/RangeAssignor.java, of one topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fakebroker.protocol.errors import InvalidRecordError, ProtocolError
from fakebroker.protocol.group_records.consumer_protocol import (
    Assignment,
    NamedTopicPartitions,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from fakebroker.protocol.sent.group_frames import BEAT, COMMIT, JOIN, LEAVE, SYNC, GroupFrames
from fakebroker_load.wire.messages import CLIENT_ID

__all__ = ("BEAT", "COMMIT", "FRAMES", "JOIN", "LEAVE", "SYNC", "assigned", "deal", "subscription_to")

FRAMES = GroupFrames(CLIENT_ID, {JOIN: 7, SYNC: 5, BEAT: 4, LEAVE: 4, COMMIT: 8})
_VERSION = 1  # of subscriptions and assignments, since 2.4


def subscription_to(topic: str) -> bytes:
    return encode_subscription(Subscription((topic,)), _VERSION)


def deal(members: Iterable[tuple[str, bytes]], topic: str, partitions: int) -> dict[str, bytes]:
    """Return the assignment of each member, by id. `members` are ids with subscriptions. In the order of ids, the first
    ones get one partition more. Raises ProtocolError for an invalid subscription."""
    try:
        wanting = sorted(name for name, data in members if topic in decode_subscription(data).topics)
    except InvalidRecordError as error:
        raise ProtocolError(f"a member's subscription: {error}") from None
    share, more = divmod(partitions, len(wanting) or 1)
    shares: dict[str, bytes] = {}
    first = 0
    for number, name in enumerate(wanting):
        end = first + share + (number < more)
        parts = (NamedTopicPartitions(topic, tuple(range(first, end))),) if end > first else ()
        shares[name] = encode_assignment(Assignment(parts), _VERSION)
        first = end
    return shares


def assigned(data: bytes, topic: str) -> Sequence[int]:
    """Return the partitions of the topic; none for an empty assignment. Raises ProtocolError for invalid bytes."""
    if not data:
        return ()
    try:
        return [
            index for entry in decode_assignment(data).partitions if entry.topic == topic for index in entry.partitions
        ]
    except InvalidRecordError as error:
        raise ProtocolError(f"an assignment: {error}") from None
