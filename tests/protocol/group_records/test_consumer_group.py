"""Records of consumer groups: their bytes, and that they come back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from fakebroker.protocol.group_records.consumer_group import (
    ClassicMemberMetadataValue,
    ClassicProtocolValue,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    ConsumerGroupTopicMetadata,
    CurrentTopicPartitions,
    TargetTopicPartitions,
)
from fakebroker.protocol.group_records.decode import decode_record

ID = UUID(int=1)
RECORDS: list[tuple[Any, Any]] = [
    (ConsumerGroupMetadataKey("g"), ConsumerGroupMetadataValue(7, -5)),
    (ConsumerGroupMetadataKey("g"), ConsumerGroupMetadataValue(7)),
    (
        ConsumerGroupPartitionMetadataKey("g"),
        ConsumerGroupPartitionMetadataValue(
            (ConsumerGroupTopicMetadata(ID, "t", 2, (ConsumerGroupPartitionMetadata(0, ("r",)),)),)
        ),
    ),
    (
        ConsumerGroupMemberMetadataKey("g", "m"),
        ConsumerGroupMemberMetadataValue("i", None, "c", "/h", ("t", "u"), "", 5, None),
    ),
    (
        ConsumerGroupMemberMetadataKey("g", "m"),
        ConsumerGroupMemberMetadataValue(
            None,
            "r",
            "c",
            "/h",
            (),
            None,
            -1,
            "range",
            ClassicMemberMetadataValue(9, (ClassicProtocolValue("p", b"md"),)),
        ),
    ),
    (ConsumerGroupTargetAssignmentMetadataKey("g"), ConsumerGroupTargetAssignmentMetadataValue(3, 4)),
    (
        ConsumerGroupTargetAssignmentMemberKey("g", "m"),
        ConsumerGroupTargetAssignmentMemberValue((TargetTopicPartitions(ID, (0, 2)),)),
    ),
    (
        ConsumerGroupCurrentMemberAssignmentKey("g", "m"),
        ConsumerGroupCurrentMemberAssignmentValue(
            3, 2, 1, (CurrentTopicPartitions(ID, (0, 1), (2, 3)),), (CurrentTopicPartitions(ID, (5,)),)
        ),
    ),
    (ConsumerGroupRegularExpressionKey("g", "t.*"), ConsumerGroupRegularExpressionValue(("t",), 5, 6)),
]


@pytest.mark.parametrize(("key", "value"), RECORDS)
def test_they_come_back(key: Any, value: Any) -> None:
    assert decode_record(key.encode(), value.encode()) == (key, value)
    assert decode_record(key.encode(), None) == (key, None)


def test_the_bytes_of_a_member() -> None:
    value = ConsumerGroupMemberMetadataValue("i", None, "c", "h", ("t",), "", 5, None)
    assert ConsumerGroupMemberMetadataKey("g", "m").encode() == b"\0\5\0\1g\0\1m"
    assert value.encode() == b"\0\0" + b"\2i" + b"\0" + b"\2c" + b"\2h" + b"\2\2t" + b"\1" + b"\0\0\0\5" + b"\0" + b"\0"


def test_the_bytes_of_what_a_member_has() -> None:
    value = ConsumerGroupCurrentMemberAssignmentValue(3, 2, 0, (CurrentTopicPartitions(ID, (7,), (3,)),), ())
    topic = ID.bytes + b"\2\0\0\0\7" + b"\1\0\5\2\0\0\0\3"
    assert value.encode() == b"\0\0" + b"\0\0\0\3" + b"\0\0\0\2" + b"\0" + b"\2" + topic + b"\1" + b"\0"


def test_keys_of_different_kinds_differ() -> None:
    keys: set[Any] = {ConsumerGroupMetadataKey("g"), ConsumerGroupTargetAssignmentMetadataKey("g")}
    assert len(keys) == 2
