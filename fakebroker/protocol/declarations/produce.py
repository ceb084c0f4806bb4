"""The Produce API (key 0), versions 3 to 13.

Source   clients/src/main/resources/common/message/ProduceRequest.json and ProduceResponse.json @ 4.2
"""

from __future__ import annotations

from construct import Int16sb, Int32sb, Int64sb, Struct

from fakebroker.protocol.declarations.layout import UUID_BYTES, Layout, Tag

__all__ = ["produce_request", "produce_response"]

_FIRST_FLEXIBLE = 9


def produce_request(version: int) -> Struct:
    """Return the body of a request."""
    kafka = Layout(version, _FIRST_FLEXIBLE)
    partition = kafka.struct(
        "index" / Int32sb,
        "records" / kafka.bytes,
    )
    topic = kafka.struct(
        kafka.until(12, "name" / kafka.string),
        kafka.since(13, "topic_id" / UUID_BYTES),
        "partition_data" / kafka.array(partition),
    )
    return kafka.struct(
        "transactional_id" / kafka.string,
        "acks" / Int16sb,
        "timeout_ms" / Int32sb,
        "topic_data" / kafka.array(topic),
    )


def produce_response(version: int) -> Struct:
    """Return the body of a response."""
    kafka = Layout(version, _FIRST_FLEXIBLE)
    record_error = kafka.struct(
        "batch_index" / Int32sb,
        "batch_index_error_message" / kafka.string,
    )
    leader = kafka.struct(
        "leader_id" / Int32sb,
        "leader_epoch" / Int32sb,
    )
    partition = kafka.struct(
        "index" / Int32sb,
        "error_code" / Int16sb,
        "base_offset" / Int64sb,
        "log_append_time_ms" / Int64sb,
        kafka.since(5, "log_start_offset" / Int64sb),
        kafka.since(8, "record_errors" / kafka.array(record_error)),
        kafka.since(8, "error_message" / kafka.string),
        kafka.since(10, Tag(0, leader)),
    )
    topic = kafka.struct(
        kafka.until(12, "name" / kafka.string),
        kafka.since(13, "topic_id" / UUID_BYTES),
        "partition_responses" / kafka.array(partition),
    )
    node = kafka.struct(
        "node_id" / Int32sb,
        "host" / kafka.string,
        "port" / Int32sb,
        "rack" / kafka.string,
    )
    return kafka.struct(
        "responses" / kafka.array(topic),
        "throttle_time_ms" / Int32sb,
        kafka.since(10, Tag(0, kafka.array(node))),
    )
