"""The answer to Metadata by hand and by kio: all versions, byte for byte."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.answers.metadata_answer import MetadataAnswer
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import encode_response, response_type
from fakebroker.protocol.produce_response import NodeEndpoint

i32s = st.integers(-(1 << 31), (1 << 31) - 1)
throttles = st.integers(0, (1 << 31) - 1)
codes = st.sampled_from(ErrorCode)
texts = st.text(max_size=200)
ids = st.lists(i32s, max_size=5).map(tuple)
uuids = st.none() | st.integers(1, 2**128 - 1).map(lambda number: UUID(int=number))
brokers = st.lists(st.builds(NodeEndpoint, i32s, texts, i32s, st.none() | texts), max_size=4)
partitions = st.lists(
    st.fixed_dictionaries(
        {
            "error_code": codes,
            "partition_index": i32s,
            "leader_id": i32s,
            "leader_epoch": i32s,
            "replica_nodes": ids,
            "isr_nodes": ids,
            "offline_replicas": ids,
        }
    ),
    max_size=140,
)


@st.composite
def topics(draw: st.DrawFn, version: int) -> list[dict[str, Any]]:
    return draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "error_code": codes,
                    "name": texts if version < 12 else st.none() | texts,
                    "topic_id": uuids,
                    "is_internal": st.booleans(),
                    "topic_authorized_operations": i32s,
                    "partitions": partitions,
                }
            ),
            max_size=3,
        )
    )


@given(st.integers(0, 13), i32s, throttles, brokers, st.none() | texts, i32s, i32s, codes, st.data())
def test_every_version(
    version: int,
    correlation_id: int,
    throttle_ms: int,
    nodes: list[NodeEndpoint],
    cluster_id: str | None,
    controller_id: int,
    operations: int,
    code: ErrorCode,
    data: st.DataObject,
) -> None:
    topics_ = data.draw(topics(version))
    answer = MetadataAnswer(version, correlation_id, throttle_ms, nodes, cluster_id, controller_id, len(topics_))
    for topic in topics_:
        answer.topic(
            topic["error_code"],
            topic["name"],
            topic["topic_id"],
            topic["is_internal"],
            len(topic["partitions"]),
            topic["topic_authorized_operations"],
        )
        for one in topic["partitions"]:
            answer.partition(
                one["error_code"],
                one["partition_index"],
                one["leader_id"],
                one["leader_epoch"],
                one["replica_nodes"],
                one["isr_nodes"],
                one["offline_replicas"],
            )
    values = {
        "throttle_time": timedelta(milliseconds=throttle_ms),
        "brokers": [node._asdict() for node in nodes],
        "cluster_id": cluster_id,
        "controller_id": controller_id,
        "topics": topics_,
        "cluster_authorized_operations": operations,
        "error_code": code,
    }
    expected = encode_response(build(response_type(3, version), values), correlation_id)
    assert answer.whole(operations, code) == expected
