"""The requests for a coordinator and for a group's committed offset: FindCoordinator v3 and OffsetFetch v7, which every
Kafka since 2.5 reads.

With require_stable, an offset of an open transaction is an error until the transaction has ended.
"""

from __future__ import annotations

from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse
from kio.schema.offset_fetch.v7.response import OffsetFetchResponse

from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.messages import decode_response, request_frame
from fakebroker_load.wire.messages import CLIENT_ID

_FIND_COORDINATOR, _FIND_COORDINATOR_VERSION = 10, 3
_OFFSET_FETCH, _OFFSET_FETCH_VERSION = 9, 7
GROUP, TRANSACTION = 0, 1  # types of keys


def encode_find_coordinator(correlation_id: int, key: str, key_type: int = GROUP) -> bytes:
    values = {"key": key, "key_type": key_type}
    return request_frame(_FIND_COORDINATOR, _FIND_COORDINATOR_VERSION, values, correlation_id, CLIENT_ID)


def decode_find_coordinator(frame: bytes) -> tuple[str, int]:
    """Return the coordinator's address. Raises ProtocolError for an error."""
    _, answer = decode_response(_FIND_COORDINATOR, _FIND_COORDINATOR_VERSION, frame)
    assert isinstance(answer, FindCoordinatorResponse)
    if answer.error_code is not ErrorCode.none:
        raise ProtocolError(f"FindCoordinator: {kafka_name(answer.error_code)}")
    return answer.host, int(answer.port)


def encode_offset_fetch(correlation_id: int, group: str, topic: str, partition: int) -> bytes:
    topics = [{"name": topic, "partition_indexes": (partition,)}]
    values = {"group_id": group, "topics": topics, "require_stable": True}
    return request_frame(_OFFSET_FETCH, _OFFSET_FETCH_VERSION, values, correlation_id, CLIENT_ID)


def decode_offset_fetch(frame: bytes) -> int:
    """Return the offset of the one partition; -1 if none is committed. Raises ProtocolError for an error."""
    _, answer = decode_response(_OFFSET_FETCH, _OFFSET_FETCH_VERSION, frame)
    assert isinstance(answer, OffsetFetchResponse)
    parts = [part for topic in answer.topics for part in topic.partitions]
    for code in (answer.error_code, *(part.error_code for part in parts)):
        if code is not ErrorCode.none:
            raise ProtocolError(f"OffsetFetch: {kafka_name(code)}")
    if len(parts) != 1:
        raise ProtocolError(f"the answer is about {len(parts)} partitions; the request was about one")
    return int(parts[0].committed_offset)
