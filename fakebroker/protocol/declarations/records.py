"""The record batch of magic 2, its records, and the control records of transactions.

Theory   Inside a batch every length and delta is a zigzag varint. The CRC covers the bytes behind it. So a builder
         needs that part first, and a check looks ahead.
Source   clients/src/main/java/org/apache/kafka/common/record/DefaultRecordBatch.java, DefaultRecord.java,
         ControlRecordType.java
"""

from __future__ import annotations

from construct import (
    Array,
    BitsInteger,
    BitStruct,
    Check,
    Const,
    Flag,
    GreedyBytes,
    IfThenElse,
    Int8sb,
    Int16sb,
    Int32sb,
    Int32ub,
    Int64sb,
    Peek,
    Prefixed,
    Rebuild,
    Struct,
    Terminated,
    ZigZag,
    this,
)
from crc32c import crc32c

from fakebroker.protocol.declarations.layout import sized_array, sized_bytes, sized_string

__all__ = ["CONTROL_KEY", "END_TXN_MARKER", "RECORD", "RECORD_BATCH"]

HEADER = Struct(
    "key" / sized_string(ZigZag),
    "value" / sized_bytes(ZigZag),
)

RECORD = Prefixed(
    ZigZag,
    Struct(
        "attributes" / Int8sb,
        "timestamp_delta_ms" / ZigZag,
        "offset_delta" / ZigZag,
        "key" / sized_bytes(ZigZag),
        "value" / sized_bytes(ZigZag),
        "headers" / sized_array(ZigZag, HEADER),
        Terminated,
    ),
)

ATTRIBUTES = BitStruct(
    "unused" / BitsInteger(9),
    "has_delete_horizon" / Flag,
    "is_control" / Flag,
    "is_transactional" / Flag,
    "has_log_append_time" / Flag,
    "compression" / BitsInteger(3),  # 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd
)

COVERED_BY_CRC = Struct(
    "attributes" / ATTRIBUTES,
    "last_offset_delta" / Int32sb,
    "base_timestamp_ms" / Int64sb,  # or the delete horizon, if that attribute is set
    "max_timestamp_ms" / Int64sb,
    "producer_id" / Int64sb,
    "producer_epoch" / Int16sb,
    "base_sequence" / Int32sb,
    "record_count" / Int32sb,
    "records" / IfThenElse(this.attributes.compression == 0, Array(this.record_count, RECORD), GreedyBytes),
    Terminated,
)

RECORD_BATCH = Struct(
    "base_offset" / Int64sb,
    "batch"
    / Prefixed(
        Int32sb,  # the batch length counts from here
        Struct(
            "partition_leader_epoch" / Int32sb,
            "magic" / Const(2, Int8sb),
            "crc" / Rebuild(Int32ub, lambda context: crc32c(COVERED_BY_CRC.build(context.covered))),
            "bytes_covered" / Peek(GreedyBytes),
            Check(lambda context: context._building or context.crc == crc32c(context.bytes_covered)),
            "covered" / COVERED_BY_CRC,
        ),
    ),
)

# A control batch holds one record; its key has its type.
CONTROL_KEY = Struct(
    "version" / Int16sb,
    "type" / Int16sb,  # 0 abort, 1 commit
)

END_TXN_MARKER = Struct(
    "version" / Int16sb,
    "coordinator_epoch" / Int32sb,
)
