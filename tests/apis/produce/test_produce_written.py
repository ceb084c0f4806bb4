"""Good records in the log: one row for each rule of what a leader writes.

Source   LogValidator.assignOffsetsNonCompressed, validateMessagesAndAssignOffsetsCompressed,
         buildRecordsAndAssignOffsets; DefaultRecordBatch.setMaxTimestamp @ 4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from support.batches import TIME_MS, batch_of, keyed
from support.requests import Produced, produce
from support.simulation import Simulation

from fakebroker.protocol.compression import Codec, decompress
from fakebroker.protocol.record_batch import (
    RECORD_BATCH_OVERHEAD,
    Record,
    decode_records,
    encode_batch,
    is_crc_valid,
    pack_batch,
    read_batch_header,
)
from fakebroker.protocol.record_walk import record_facts
from fakebroker.protocol.varint import encode_varint

HOUR_MS = 3_600_000
COMPACT: dict[str, Any] = {"cleanup_policy": "compact"}
LOG_APPEND: dict[str, Any] = {"message_timestamp_type": "LogAppendTime"}
TIMESTAMP_BIT = 0x08
LIAR = bytes.fromhex("0a 00 00 00 00 01 00")  # a record that claims five bytes and has six


class Accepted(NamedTuple):
    name: str
    records: bytes
    configs: Mapping[str, Any] = {}
    attributes: int = 0
    base_timestamp_ms: int = TIME_MS
    max_timestamp_ms: int = TIME_MS
    offset_deltas: tuple[int, ...] | None = (0,)
    log_append_time_ms: int | None = None


TWO = [Record(b"k", b"v", timestamp_ms=TIME_MS - 5), Record(None, b"w", (("h", b"x"),), TIME_MS + 7)]
ACCEPTED = [
    Accepted("as it came", keyed()),
    Accepted("bytes behind the batch are dropped", keyed() + keyed()[:60]),
    Accepted("max timestamp recomputed", keyed(max_timestamp_ms=5)),
    Accepted("no timestamp", keyed(base_timestamp_ms=-1), base_timestamp_ms=-1, max_timestamp_ms=-1),
    Accepted(
        "no timestamp is in every range",
        keyed(base_timestamp_ms=-1),
        {"message_timestamp_before_max_ms": 0, "message_timestamp_after_max_ms": 0},
        base_timestamp_ms=-1,
        max_timestamp_ms=-1,
    ),
    Accepted(
        "negative timestamps count as none", keyed(base_timestamp_ms=-2), base_timestamp_ms=-2, max_timestamp_ms=-1
    ),
    Accepted(
        "an hour ahead",
        batch_of([Record(b"k", b"v")], base_timestamp_ms=TIME_MS + HOUR_MS),
        base_timestamp_ms=TIME_MS + HOUR_MS,
        max_timestamp_ms=TIME_MS + HOUR_MS,
    ),
    Accepted("LogAppendTime", keyed(), LOG_APPEND, TIMESTAMP_BIT, log_append_time_ms=TIME_MS),
    Accepted(
        "LogAppendTime asks for no range",
        keyed(base_timestamp_ms=5),
        LOG_APPEND | {"message_timestamp_before_max_ms": 0},
        TIMESTAMP_BIT,
        5,
        log_append_time_ms=TIME_MS,
    ),
    Accepted(
        "the bit is cleared",
        keyed(attributes=TIMESTAMP_BIT, max_timestamp_ms=TIME_MS + 9),
        max_timestamp_ms=TIME_MS + 9,
    ),
    Accepted("unused bits stay with the CRC", keyed(attributes=0x180), attributes=0x180),
    Accepted("unused bits go when the header is written", keyed(attributes=0x1C0, max_timestamp_ms=0), attributes=0x40),
    Accepted(
        "odd deltas stay, uncompressed",
        batch_of([Record(b"k", b"v", offset_delta=4)], last_offset_delta=0),
        offset_deltas=(4,),
    ),
    Accepted(
        "size of a compressed record does not matter", batch_of([Record(b"", b"")], Codec.GZIP, body=LIAR), attributes=1
    ),
    Accepted("a key on a compacted topic", keyed(), COMPACT),
    *(Accepted(codec.name.lower(), keyed(codec=codec), attributes=codec) for codec in Codec),
    *(
        Accepted(
            f"{source.name.lower()} to {target.name.lower()}",
            batch_of(TWO, source),
            {"compression_type": "uncompressed" if target == Codec.NONE else target.name.lower()},
            target,
            base_timestamp_ms=TIME_MS if source == target else TIME_MS - 5,
            max_timestamp_ms=TIME_MS + 7,
            offset_deltas=(0, 1),
        )
        for source in Codec
        for target in Codec
    ),
    Accepted(
        "odd deltas are put right when recompressed",
        batch_of([Record(b"k", b"v", offset_delta=4)], Codec.LZ4, last_offset_delta=0),
        {"compression_type": "zstd"},
        Codec.ZSTD,
    ),
    Accepted(
        "LogAppendTime, recompressed",
        batch_of(TWO, Codec.LZ4),
        LOG_APPEND | {"compression_type": "gzip"},
        Codec.GZIP | TIMESTAMP_BIT,
        TIME_MS - 5,
        offset_deltas=(0, 1),
        log_append_time_ms=TIME_MS,
    ),
]


@pytest.mark.parametrize("row", ACCEPTED, ids=lambda row: row.name)
def test_good_records_are_written(row: Accepted) -> None:
    simulation = Simulation()
    simulation.topic("t", **row.configs)
    client = simulation.connect()
    client.send(produce("t", records=keyed(b"before")), produce("t", records=row.records))
    answer = Produced(client.answers[1][1]).response.responses[0].partition_responses[0]
    assert (int(answer.error_code), answer.base_offset) == (0, 1)
    appended_ms = None if answer.log_append_time is None else round(answer.log_append_time.timestamp() * 1000)
    assert appended_ms == row.log_append_time_ms
    logged = simulation.partition().leader_log.batches[1]
    assert is_crc_valid(logged.data, 0, len(logged.data))
    header = read_batch_header(logged.data)
    sent = read_batch_header(row.records)
    assert (header.base_offset, header.partition_leader_epoch, header.size_in_bytes) == (1, 0, len(logged.data))
    assert (header.attributes, header.base_timestamp_ms) == (row.attributes, row.base_timestamp_ms)
    assert header.max_timestamp_ms == row.max_timestamp_ms
    assert header.record_count == sent.record_count
    body = (
        decompress(header.compression, logged.data[RECORD_BATCH_OVERHEAD:], 1 << 20)
        if header.compression
        else logged.data[RECORD_BATCH_OVERHEAD:]
    )
    deltas = tuple(fact.offset_delta for fact in record_facts(body, 0, header.record_count, header.base_timestamp_ms))
    assert deltas == row.offset_deltas


def test_a_rebuilt_batch_has_the_same_records() -> None:
    simulation = Simulation()
    simulation.topic("t", compression_type="zstd")
    client = simulation.connect()
    client.send(produce("t", records=batch_of(TWO, Codec.SNAPPY)))
    data = simulation.partition().leader_log.batches[0].data
    header = read_batch_header(data)
    plain = pack_batch(header._replace(attributes=0), decompress(Codec.ZSTD, data[RECORD_BATCH_OVERHEAD:], 1 << 20))
    assert decode_records(plain) == decode_records(encode_batch(TWO, base_timestamp_ms=TIME_MS))


@pytest.mark.parametrize(
    ("fields", "written"),
    [
        ("03 02 76 00", "01 02 76 00"),  # a key of size -2
        ("83 6b 01 00", "01 01 00"),  # a key and a value that are null
        ("82 00 6b 82 00 76 80 00", "02 6b 02 76 00"),  # sizes of two bytes where one would do
        ("01 01 02 04 61 ff 00", "01 01 02 08 61 ef bf bd 00"),  # a header with a key that is no text
        ("01 01 02 02 61 05", "01 01 02 02 61 01"),  # a header of size -3
    ],
)
def test_fields_are_written_anew_when_a_batch_is_recompressed(fields: str, written: str) -> None:
    """DefaultRecord.writeTo: records with the same meaning become the same bytes."""
    start = b"\0\0\0"
    body = start + bytes.fromhex(fields)
    simulation = Simulation()
    simulation.topic("t", compression_type="uncompressed")
    client = simulation.connect()
    records = batch_of([Record(None, None)], Codec.GZIP, body=encode_varint(len(body)) + body)
    client.send(produce("t", records=records))
    assert Produced(client.answers[0][1]).partitions == {0: (0, 0)}
    logged = simulation.partition().leader_log.batches[0]
    expected = start + bytes.fromhex(written)
    assert logged.data[RECORD_BATCH_OVERHEAD:] == encode_varint(len(expected)) + expected
