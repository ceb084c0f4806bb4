"""The response to a produce request with bad records: one row for each rule, in Kafka's order.

A row has the records, the settings of the topic, and the response for the partition. These are its error code, log
start offset, record errors and error message. base_offset and log_append_time are -1 on every error, and nothing is
appended.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from support.batches import TIME_MS, batch_of, flipped, keyed
from support.requests import Produced, produce
from support.simulation import Simulation

from fakebroker.protocol.compression import Codec, compress
from fakebroker.protocol.record_batch import Record
from fakebroker.protocol.varint import encode_varint

UNKNOWN, CORRUPT, TOO_LARGE, LIST_TOO_LARGE, INVALID_TIMESTAMP, INVALID_RECORD = -1, 2, 10, 18, 32, 87
HOUR_MS = 3_600_000
COMPACT: dict[str, Any] = {"cleanup_policy": "compact"}
LOG_APPEND: dict[str, Any] = {"message_timestamp_type": "LogAppendTime"}
TIMESTAMP_BIT, CONTROL = 0x08, 0x20


class Row(NamedTuple):
    name: str
    source: str
    records: bytes
    code: int
    configs: Mapping[str, Any] = {}
    log_start: int = 0
    record_errors: tuple[tuple[int, str], ...] = ()
    message: str | None = None


def too_small(size: int) -> bytes:
    """Return a whole batch of fewer bytes than a header has."""
    return keyed()[:8] + (size - 12).to_bytes(4, "big") + keyed()[12:size]


def record(
    timestamp_delta: int = 0, offset_delta: int = 0, rest: bytes = b"\x00\x01\x00", extra_size: int = 0
) -> bytes:
    body = b"\0" + encode_varint(timestamp_delta) + encode_varint(offset_delta) + rest
    return encode_varint(len(body) + extra_size) + body


LIAR = record(extra_size=-1)
TOO_MUCH = record(rest=b"\0" + encode_varint(104_857_600) + bytes(104_857_600) + b"\0")
BIG = [Record(b"k", bytes(2_000))]
NO_KEYS = batch_of([Record(None, b"a"), Record(b"k", b"b"), Record(None, b"c")])
KEY_ERROR = "Compacted topic cannot accept message without key in topic partition t-0"
TIMESTAMP_MESSAGE = "One or more records have been rejected due to invalid timestamp"


def key_message(*indexes: int) -> str:
    shown = ", ".join(f"RecordError(batchIndex={index}, message='{KEY_ERROR}')" for index in indexes[:3])
    return (
        f"One or more records have been rejected due to {len(indexes)} record errors in total, and only showing the "
        f"first three errors at most: [{shown}]"
    )


def range_error(timestamp_ms: int, offset: int, before_ms: int = 2**63 - 1, after_ms: int = HOUR_MS) -> str:
    return (
        f"Timestamp {timestamp_ms} of message with offset {offset} is out of range. The timestamp should be within "
        f"[{TIME_MS - before_ms}, {TIME_MS + after_ms}]"
    )


def type_error(name: str, timestamp_ms: int) -> str:
    return (
        f"Invalid timestamp type in message {name}(offset=0, timestamp={timestamp_ms}, key=1 bytes, value=1 bytes). "
        "Producer should not set timestamp type to LogAppendTime."
    )


ROWS = [
    # UnifiedLog.analyzeAndValidateRecords
    Row("base offset", "UnifiedLog.analyzeAndValidateRecords", keyed(base_offset=1), INVALID_RECORD),
    Row(
        "base offset before size",
        "UnifiedLog.analyzeAndValidateRecords",
        keyed(base_offset=1),
        INVALID_RECORD,
        {"max_message_bytes": 10},
    ),
    Row("size", "RecordTooLargeException", keyed(), TOO_LARGE, {"max_message_bytes": 69}, -1),
    Row("size before CRC", "RecordTooLargeException", flipped(keyed()), TOO_LARGE, {"max_message_bytes": 69}, -1),
    Row("CRC", "CorruptRecordException", flipped(keyed()), CORRUPT, {}, -1),
    Row("smaller than a header", "DefaultRecordBatch.isValid", too_small(60), CORRUPT, {}, -1),
    Row("too small for a producer id", "ReplicaManager.handleProduceAppend", too_small(50), UNKNOWN, {}, -1),
    Row("with room for a producer id", "DefaultRecordBatch.isValid", too_small(51), CORRUPT, {}, -1),
    Row("CRC before codec", "CorruptRecordException", flipped(keyed(attributes=5)), CORRUPT, {}, -1),
    Row("codec 5", "CompressionType.forId", keyed(attributes=5), UNKNOWN),
    Row("codec 7, and a bad count", "CompressionType.forId", keyed(attributes=7, record_count=-1), UNKNOWN),
    # LogValidator.validateBatch
    Row("no offsets", "LogValidator.validateBatch", keyed(last_offset_delta=-1), INVALID_RECORD),
    Row("no records", "LogValidator.validateBatch", keyed(record_count=0), INVALID_RECORD),
    Row("counts differ", "LogValidator.validateBatch", keyed(last_offset_delta=1), INVALID_RECORD),
    Row("control", "LogValidator.validateBatch", keyed(attributes=CONTROL), INVALID_RECORD),
    Row("no sequence", "LogValidator.validateBatch", keyed(producer_id=1, producer_epoch=0), INVALID_RECORD),
    # max.decompressed.message.bytes (4.4): each record of a compressed batch
    Row(
        "a record above the limit of what is decompressed",
        "DefaultRecord.readPartiallyFrom @ 4.4",
        batch_of([Record(b"", b"v" * 94)], Codec.GZIP),
        INVALID_RECORD,
        {"max_decompressed_message_bytes": 99},
    ),
    # DefaultRecord.readFrom
    Row("fewer records", "RecordIterator", keyed(record_count=2, last_offset_delta=1), INVALID_RECORD),
    Row("more records", "RecordIterator", keyed(b"a", b"b", record_count=1, last_offset_delta=0), INVALID_RECORD),
    Row("record size", "DefaultRecord.readFrom", batch_of([Record(b"", b"")], body=LIAR), INVALID_RECORD),
    Row(
        "overlong record size",
        "DefaultRecord.readFrom, varint outside of the try",
        batch_of([Record(b"", b"")], body=b"\x80" * 5 + b"\0"),
        UNKNOWN,
    ),
    Row(
        "overlong record size, compressed",
        "StreamRecordIterator.readNext",
        batch_of([Record(b"", b"")], Codec.LZ4, body=b"\x80" * 5 + b"\0"),
        INVALID_RECORD,
    ),
    Row(
        "record size, recompressed",
        "DefaultRecord.readFrom(InputStream)",
        batch_of([Record(b"", b"")], Codec.LZ4, body=LIAR),
        INVALID_RECORD,
        {"compression_type": "gzip"},
    ),
    Row(
        "structure before timestamps",
        "LogValidator, processRecordErrors after the loop",
        batch_of([Record(b"k", b"v")], base_timestamp_ms=TIME_MS + 2 * HOUR_MS, record_count=2, last_offset_delta=1),
        INVALID_RECORD,
    ),
    # decompression
    *(
        Row(
            f"broken {codec.name.lower()}",
            "StreamRecordIterator.readNext, KafkaException",
            batch_of([Record(b"k", b"v")], attributes=codec, body=b"this is none of it"),
            UNKNOWN,
        )
        for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
    ),
    Row(
        "header before decompression",
        "LogValidator.validateBatch",
        batch_of([Record(b"k", b"v")], attributes=Codec.GZIP, body=b"?", record_count=0),
        INVALID_RECORD,
    ),
    *(
        Row(
            f"bytes behind the records, {codec.name.lower()}",
            "RecordIterator.ensureNoneRemaining",
            batch_of([Record(b"k", b"v")], codec, body=record() + b"\0"),
            INVALID_RECORD,
        )
        for codec in Codec
    ),
    Row(
        "odd offset deltas, compressed",
        "PartialDefaultRecord.key, UnsupportedOperationException",
        batch_of([Record(b"k", b"v", offset_delta=1)], Codec.ZSTD, last_offset_delta=0),
        UNKNOWN,
    ),
    # LogValidator.validateKey
    Row(
        "keys on a compacted topic",
        "LogValidator.validateKey",
        NO_KEYS,
        INVALID_RECORD,
        COMPACT,
        0,
        ((0, KEY_ERROR), (2, KEY_ERROR)),
        key_message(0, 2),
    ),
    Row(
        "keys on a topic that is compacted and deleted",
        "LogConfig.compact",
        NO_KEYS,
        INVALID_RECORD,
        {"cleanup_policy": "compact,delete"},
        0,
        ((0, KEY_ERROR), (2, KEY_ERROR)),
        key_message(0, 2),
    ),
    Row(
        "four keys, three are told in the message",
        "LogValidator.processRecordErrors",
        batch_of([Record(None, b"")] * 4, Codec.SNAPPY),
        INVALID_RECORD,
        COMPACT,
        0,
        tuple((index, KEY_ERROR) for index in range(4)),
        key_message(0, 1, 2, 3),
    ),
    # LogValidator.validateTimestamp
    Row(
        "an hour ahead and a millisecond",
        "LogValidator.validateTimestamp",
        batch_of([Record(b"k", b"v", timestamp_ms=TIME_MS + HOUR_MS + late_ms) for late_ms in (0, 1)]),
        INVALID_TIMESTAMP,
        {},
        0,
        ((1, range_error(TIME_MS + HOUR_MS + 1, 1)),),
        TIMESTAMP_MESSAGE,
    ),
    Row(
        "as old as it may be, and a millisecond older",
        "LogValidator.validateTimestamp",
        batch_of([Record(b"k", b"v", timestamp_ms=TIME_MS - age_ms) for age_ms in (1_000, 1_001)], Codec.GZIP),
        INVALID_TIMESTAMP,
        {"message_timestamp_before_max_ms": 1_000},
        0,
        ((1, range_error(TIME_MS - 1_001, 1, before_ms=1_000)),),
        TIMESTAMP_MESSAGE,
    ),
    Row(
        "timestamp over key",
        "LogValidator.processRecordErrors",
        batch_of([Record(None, b"a"), Record(b"k", b"b", timestamp_ms=TIME_MS + 2 * HOUR_MS)]),
        INVALID_TIMESTAMP,
        COMPACT,
        0,
        ((0, KEY_ERROR), (1, range_error(TIME_MS + 2 * HOUR_MS, 1))),
        TIMESTAMP_MESSAGE,
    ),
    Row(
        "LogAppendTime from a client",
        "LogValidator.validateTimestamp",
        keyed(attributes=TIMESTAMP_BIT),
        INVALID_TIMESTAMP,
        LOG_APPEND,
        0,
        ((0, type_error("DefaultRecord", TIME_MS)),),
        TIMESTAMP_MESSAGE,
    ),
    Row(
        "LogAppendTime from a client, compressed",
        "LogValidator.validateTimestamp",
        keyed(attributes=TIMESTAMP_BIT, codec=Codec.ZSTD),
        INVALID_TIMESTAMP,
        LOG_APPEND,
        0,
        ((0, type_error("PartialDefaultRecord", TIME_MS)),),
        TIMESTAMP_MESSAGE,
    ),
    Row(
        "LogAppendTime bit without a time",
        "LogValidator.validateTimestamp",
        keyed(attributes=TIMESTAMP_BIT, max_timestamp_ms=-1),
        INVALID_TIMESTAMP,
        {},
        0,
        ((0, type_error("DefaultRecord", -1)),),
        TIMESTAMP_MESSAGE,
    ),
    Row(
        "LogAppendTime bit with a time out of bounds",
        "DefaultRecord.readFrom, logAppendTime",
        keyed(attributes=TIMESTAMP_BIT, max_timestamp_ms=TIME_MS + 2 * HOUR_MS),
        INVALID_TIMESTAMP,
        {},
        0,
        ((0, range_error(TIME_MS + 2 * HOUR_MS, 0)),),
        TIMESTAMP_MESSAGE,
    ),
    # what is written
    Row(
        "too large once recompressed",
        "UnifiedLog.append, messageSizeMaybeChanged",
        batch_of(BIG, Codec.ZSTD),
        TOO_LARGE,
        {"compression_type": "uncompressed", "max_message_bytes": 1_000},
        -1,
    ),
    Row(
        "negative timestamp, recompressed",
        "MemoryRecordsBuilder.appendWithOffset",
        batch_of([Record(b"k", b"v")], base_timestamp_ms=-2),
        UNKNOWN,
        {"compression_type": "gzip"},
    ),
    *(
        Row(
            f"a producer id below -1 {what}, recompressed",
            "MemoryRecordsBuilder.validateProducerState",
            batch_of([Record(b"k", b"v")], Codec.LZ4, producer_id=-2, producer_epoch=epoch, base_sequence=sequence),
            UNKNOWN,
            {"compression_type": "gzip"},
        )
        for what, epoch, sequence in (
            ("without an epoch", -1, 0),
            ("without a sequence", 0, -1),
        )
    ),
    Row(
        "larger than a segment",
        "RecordBatchTooLargeException",
        batch_of([Record(b"k", bytes(1_100_000))]),
        LIST_TOO_LARGE,
        {"segment_bytes": 1_048_576, "max_message_bytes": 2_000_000},
        -1,
    ),
    Row(
        "decompresses to too much",
        "ours: Kafka has no bound",
        batch_of([Record(b"k", b"v")], attributes=Codec.ZSTD, body=compress(Codec.ZSTD, TOO_MUCH)),
        TOO_LARGE,
        {},
        -1,
    ),
    Row(
        "a bad record, before it is too much",
        "StreamRecordIterator.readNext: the record is met first",
        batch_of([Record(b"k", b"v")], attributes=Codec.ZSTD, body=compress(Codec.ZSTD, bytes(104_857_601))),
        INVALID_RECORD,
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_bad_records_are_refused(row: Row) -> None:
    simulation = Simulation()
    simulation.topic("t", **row.configs)
    client = simulation.connect()
    client.send(produce("t", records=row.records, version=9))
    ((_, frame),) = client.answers
    ((answer,),) = (topic.partition_responses for topic in Produced(frame).response.responses)
    assert int(answer.error_code) == row.code
    assert (answer.base_offset, answer.log_append_time) == (-1, None)
    assert answer.log_start_offset == row.log_start
    errors = tuple((error.batch_index, error.batch_index_error_message) for error in answer.record_errors)
    assert errors == row.record_errors
    assert answer.error_message == row.message
    partition = simulation.partition()
    assert partition.leader_log.log_end_offset == 0


@pytest.mark.parametrize("version", range(3, 13))
def test_record_errors_are_told_from_version_8_on(version: int) -> None:
    simulation = Simulation()
    simulation.topic("t", **COMPACT)
    client = simulation.connect()
    client.send(produce("t", records=NO_KEYS, version=version))
    ((_, frame),) = client.answers
    ((answer,),) = (topic.partition_responses for topic in Produced(frame, version).response.responses)
    assert int(answer.error_code) == INVALID_RECORD
    indexes = [error.batch_index for error in getattr(answer, "record_errors", ())]
    assert indexes == ([0, 2] if version >= 8 else [])
    assert getattr(answer, "error_message", None) == (key_message(0, 2) if version >= 8 else None)


def test_one_bad_partition_does_not_touch_the_other() -> None:
    simulation = Simulation(brokers=1)
    simulation.topic("t", partitions=2, replicas=1)
    client = simulation.connect()
    client.send(produce("t", partitions={0: keyed(), 1: flipped(keyed())}))
    assert Produced(client.answers[0][1]).partitions == {0: (0, 0), 1: (CORRUPT, -1)}


@pytest.mark.parametrize(
    "records",
    [
        batch_of([Record(b"", b"v" * 93)] * 3, Codec.GZIP),  # each record has 100 bytes behind its size
        batch_of([Record(b"", b"v" * 93)] * 3, Codec.ZSTD),
        batch_of([Record(b"", b"v" * 940)]),
    ],
    ids=["gzip", "zstd", "plain"],
)
def test_what_is_decompressed_is_measured_record_by_record(records: bytes) -> None:
    simulation = Simulation()
    simulation.topic("t", max_decompressed_message_bytes=100)
    client = simulation.connect()
    client.send(produce("t", records=records))

    assert Produced(client.answers[0][1]).partitions == {0: (0, 0)}
