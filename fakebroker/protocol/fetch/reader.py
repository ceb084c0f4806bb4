"""The reader of Fetch requests: by hand for usual ones, else by the tables."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from fakebroker.protocol.fetch.by_hand import read_by_hand
from fakebroker.protocol.fetch.request import (
    NO_TOPIC_ID,
    FetchPartitionData,
    FetchRequest,
    FetchTopicData,
    ForgottenTopic,
)
from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.messages import decode_request, decode_request_in_slices
from fakebroker.protocol.slices import Slices, finish

_FETCH: Final = 1
_MILLISECOND: Final = timedelta(milliseconds=1)
_PARTITIONS_OF_A_SLICE: Final = 128


def read_fetch_request(version: int, frame: bytes | LargeFrame, offset: int) -> FetchRequest:
    """Read the body at the offset. Raises ProtocolError like `messages.decode_request`."""
    request = read_by_hand(version, frame, offset)
    if request is not None:
        return request
    whole = frame if isinstance(frame, bytes) else frame.join()
    return finish(of_kio(version, decode_request(_FETCH, version, whole, offset)))


def read_fetch_request_in_slices(
    version: int, frame: bytes | LargeFrame, offset: int, max_elements: int
) -> Slices[FetchRequest]:
    """Read the body in slices, never by hand. Raises ProtocolError also for more elements than `max_elements`."""
    whole = frame if isinstance(frame, bytes) else (yield from frame.join_in_slices())
    read = yield from decode_request_in_slices(_FETCH, version, whole, offset, max_elements)
    return (yield from of_kio(version, read))


def of_kio(version: int, request: Any) -> Slices[FetchRequest]:
    """Convert kio's request into a FetchRequest."""
    by_id = version >= 13
    topics: list[FetchTopicData] = []
    read = 0
    for topic in request.topics:
        partitions: list[FetchPartitionData] = []
        for p in topic.partitions:
            current_leader_epoch = p.current_leader_epoch if version >= 9 else -1
            last_fetched_epoch = p.last_fetched_epoch if version >= 12 else -1
            partitions.append(
                FetchPartitionData(
                    p.partition, p.fetch_offset, p.partition_max_bytes, current_leader_epoch, last_fetched_epoch
                )
            )
            read += 1
            if read % _PARTITIONS_OF_A_SLICE == 0:
                yield
        topic_id = topic.topic_id.bytes if by_id and topic.topic_id is not None else NO_TOPIC_ID
        topics.append(FetchTopicData("" if by_id else topic.topic, topic_id, partitions))
        read += 1
        if read % _PARTITIONS_OF_A_SLICE == 0:
            yield
    forgotten: list[ForgottenTopic] = []
    for topic in request.forgotten_topics_data if version >= 7 else ():
        topic_id = topic.topic_id.bytes if by_id and topic.topic_id is not None else NO_TOPIC_ID
        forgotten.append(ForgottenTopic("" if by_id else topic.topic, topic_id, list(topic.partitions)))
        read += 1
        if read % _PARTITIONS_OF_A_SLICE == 0:
            yield
    replica_id = request.replica_id if version < 15 else request.replica_state.replica_id
    return FetchRequest(
        int(replica_id),
        -1 if version < 15 else request.replica_state.replica_epoch,
        request.max_wait // _MILLISECOND,
        request.min_bytes,
        request.max_bytes,
        request.isolation_level,
        request.session_id if version >= 7 else 0,
        request.session_epoch if version >= 7 else -1,
        topics,
        forgotten,
        request.rack_id if version >= 11 else "",
    )
