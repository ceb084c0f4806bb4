"""Generated values for the tests of the protocol, and the same values in the shapes of kio and of the declarations.

The neutral shape is our own tuples. Each `*_as_kio` and `*_as_declared` gives the fields of a value for one version.
So a mistake in one encoder cannot hide in another.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from hypothesis import strategies as st
from kio.index import load_payload_module
from kio.static.constants import EntityType

from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.produce_response import NodeEndpoint, PartitionProduceResponse, TopicProduceResponse
from fakebroker.protocol.record_batch import Record

PRODUCE_VERSIONS = range(3, 14)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_UUID = UUID(int=0)

i16s = st.integers(-(2**15), 2**15 - 1)
i32s = st.integers(-(2**31), 2**31 - 1)
i64s = st.integers(-(2**63), 2**63 - 1)
# 127 and 128 bytes is where a compact length grows to two bytes.
texts = st.one_of(st.text(max_size=8), st.integers(120, 132).map("x".__mul__))
blobs = st.one_of(st.binary(max_size=40), st.integers(120, 132).map(b"\x00\xff".__mul__))
uuids = st.none() | st.uuids()


class PartitionData(NamedTuple):
    number: int
    records: bytes | None


class TopicData(NamedTuple):
    name: str
    topic_id: UUID | None
    partitions: tuple[PartitionData, ...]


class ProduceRequest(NamedTuple):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: tuple[TopicData, ...]


def tuples_of(elements: st.SearchStrategy, most: int = 3) -> st.SearchStrategy:
    return st.lists(elements, max_size=most).map(tuple)


produce_requests = st.builds(
    ProduceRequest,
    st.none() | texts,
    i16s,
    i32s,
    tuples_of(
        st.builds(TopicData, texts, uuids, tuples_of(st.builds(PartitionData, i32s, st.none() | blobs))),
    ),
)

partition_responses = st.builds(
    PartitionProduceResponse,
    i32s,
    st.sampled_from(ErrorCode),
    i64s,
    # kio has a datetime here, read by way of a float: -1 is None, and far behind 2100 the milliseconds get noisy.
    st.just(-1) | st.integers(0, 2**42),
    i64s,
    tuples_of(st.tuples(i32s, st.none() | texts), most=2),
    st.none() | texts,
    st.none() | st.tuples(i32s, i32s) | st.just((-1, -1)),
)


class ProduceResponse(NamedTuple):
    topics: tuple[TopicProduceResponse, ...]
    throttle_time_ms: int
    node_endpoints: tuple[NodeEndpoint, ...]


produce_responses = st.builds(
    ProduceResponse,
    tuples_of(st.builds(TopicProduceResponse, texts, uuids, tuples_of(partition_responses))),
    i32s,
    tuples_of(st.builds(NodeEndpoint, i32s, texts, i32s, st.none() | texts), most=2),
)

records = st.builds(
    Record,
    st.none() | blobs,
    st.none() | blobs,
    tuples_of(st.tuples(texts, st.none() | blobs), most=2),
    st.integers(0, 2**42),
    i32s,
)


def of_version(kind: type, **values: object) -> Any:
    """A kio dataclass with those of the values that this version has a field for."""
    names = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in values.items() if name in names})


def request_as_kio(version: int, request: ProduceRequest) -> Any:
    kio = load_payload_module(0, version, EntityType.request)
    topics = tuple(
        of_version(
            kio.TopicProduceData,
            name=topic.name,
            topic_id=topic.topic_id,
            partition_data=tuple(
                kio.PartitionProduceData(index=partition.number, records=partition.records)
                for partition in topic.partitions
            ),
        )
        for topic in request.topics
    )
    return kio.ProduceRequest(
        transactional_id=request.transactional_id,
        acks=request.acks,
        timeout=timedelta(milliseconds=request.timeout_ms),
        topic_data=topics,
    )


def request_as_declared(
    version: int, request: ProduceRequest, tags: tuple[dict[str, object], ...] = ()
) -> dict[str, object]:
    """Return the declared form; `tags` are unknown fields for every tagged section of the body."""
    return flexible_dict(
        version,
        tags,
        transactional_id=request.transactional_id,
        acks=request.acks,
        timeout_ms=request.timeout_ms,
        topic_data=[
            flexible_dict(
                version,
                tags,
                **({"name": topic.name} if version < 13 else {"topic_id": topic.topic_id or NO_UUID}),
                partition_data=[
                    flexible_dict(version, tags, index=partition.number, records=partition.records)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def response_as_kio(version: int, response: ProduceResponse) -> Any:
    """Return the response in the form that kio writes."""
    kio = load_payload_module(0, version, EntityType.response)
    return of_version(
        kio.ProduceResponse,
        responses=tuple(
            of_version(
                kio.TopicProduceResponse,
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=tuple(partition_as_kio(kio, version, partition) for partition in topic.partitions),
            )
            for topic in response.topics
        ),
        throttle_time=timedelta(milliseconds=response.throttle_time_ms),
        node_endpoints=tuple(kio.NodeEndpoint(**node._asdict()) for node in response.node_endpoints)
        if version >= 10
        else (),
    )


def partition_as_kio(kio: Any, version: int, partition: PartitionProduceResponse) -> Any:
    log_append_time = None
    if partition.log_append_time_ms != -1:
        log_append_time = EPOCH + timedelta(milliseconds=partition.log_append_time_ms)
    later: dict[str, object] = {}
    if version >= 8:
        later["record_errors"] = tuple(
            kio.BatchIndexAndErrorMessage(batch_index=number, batch_index_error_message=message)
            for number, message in partition.record_errors
        )
    if version >= 10 and partition.current_leader is not None:
        leader_id, leader_epoch = partition.current_leader
        later["current_leader"] = kio.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
    return of_version(
        kio.PartitionProduceResponse,
        index=partition.index,
        error_code=ErrorCode(partition.error_code),
        base_offset=partition.base_offset,
        log_append_time=log_append_time,
        log_start_offset=partition.log_start_offset,
        error_message=partition.error_message,
        **later,
    )


def response_as_declared(version: int, response: ProduceResponse) -> dict[str, object]:
    nodes: tuple[dict[str, object], ...] = ()
    if version >= 10 and response.node_endpoints:
        value = [flexible_dict(version, (), **node._asdict()) for node in response.node_endpoints]
        nodes = ({"tag": 0, "value": value},)
    return flexible_dict(
        version,
        nodes,
        responses=[
            flexible_dict(
                version,
                (),
                **({"name": topic.name} if version < 13 else {"topic_id": topic.topic_id or NO_UUID}),
                partition_responses=[partition_as_declared(version, partition) for partition in topic.partitions],
            )
            for topic in response.topics
        ],
        throttle_time_ms=response.throttle_time_ms,
    )


def partition_as_declared(version: int, partition: PartitionProduceResponse) -> dict[str, object]:
    leader: tuple[dict[str, object], ...] = ()
    if version >= 10 and partition.current_leader not in (None, (-1, -1)):
        leader_id, leader_epoch = partition.current_leader
        value = flexible_dict(version, (), leader_id=leader_id, leader_epoch=leader_epoch)
        leader = ({"tag": 0, "value": value},)
    later: dict[str, object] = {}
    if version >= 5:
        later["log_start_offset"] = partition.log_start_offset
    if version >= 8:
        later["record_errors"] = [
            flexible_dict(version, (), batch_index=number, batch_index_error_message=message)
            for number, message in partition.record_errors
        ]
        later["error_message"] = partition.error_message
    return flexible_dict(
        version,
        leader,
        index=partition.index,
        error_code=int(partition.error_code),
        base_offset=partition.base_offset,
        log_append_time_ms=partition.log_append_time_ms,
        **later,
    )


def flexible_dict(version: int, tags: tuple[dict[str, object], ...], **values: object) -> dict[str, object]:
    return {**values, "tagged_fields": list(tags)} if version >= 9 else values


def plain(parsed: object) -> Any:
    """Return construct's result as dicts and lists without its own bookkeeping."""
    if isinstance(parsed, dict):
        return {name: plain(value) for name, value in parsed.items() if not name.startswith("_")}
    if isinstance(parsed, list):
        return [plain(value) for value in parsed]
    return parsed
