"""Frames and batches as hex, fixed before this code was written: what is on the wire does not follow our taste.

The CRCs were checked with another CRC-32C implementation. In both batches the leader epoch is 0, as librdkafka and
kafka-python send it; Java sends -1.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from kio.records.readers import read_batch
from kio.schema.api_versions.v0.response import ApiVersion, ApiVersionsResponse
from kio.schema.api_versions.v3.request import ApiVersionsRequest
from kio.schema.produce.v3 import request as v3
from kio.schema.produce.v9 import request as v9
from kio.static.primitive import i16

from fakebroker.protocol.declarations import RECORD_BATCH, frame, produce_request, produce_response, request_header
from fakebroker.protocol.declarations import response_header as declared_response_header
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.framing import FrameDecoder
from fakebroker.protocol.headers import decode_request_header, peek_api
from fakebroker.protocol.messages import decode_request, decode_response, encode_request, encode_response, is_flexible
from fakebroker.protocol.produce_response import (
    PartitionProduceResponse,
    TopicProduceResponse,
    encode_produce_response,
)
from fakebroker.protocol.record_batch import Record, decode_records, encode_batch, is_crc_valid, read_batch_header

T_MS = 1_700_000_000_000

BATCH_A = bytes.fromhex(
    "0000000000000000 0000003a 00000000 02 e99b8dd8 0000 00000000 0000018bcfe56800 0000018bcfe56800"
    "ffffffffffffffff ffff ffffffff 00000001 10000000026b027600"
)
RECORDS_A = [Record(b"k", b"v", (), T_MS, 0)]

BATCH_B = bytes.fromhex(
    "0000000000000000 00000050 00000000 02 d350e2a1 0000 00000001 0000018bcfe56800 0000018bcfe56805"
    "00000000000003e8 0000 00000000 00000002 16000000010a68656c6c6f00 24000a02066b65790a776f726c640202680231"
)
RECORDS_B = [Record(None, b"hello", (), T_MS, 0), Record(b"key", b"world", (("h", b"1"),), T_MS + 5, 1)]

API_VERSIONS_V3 = bytes.fromhex("00000017 0012 0003 00000001 0004 64656d6f 00 03 7079 04 312e30 00")
UNSUPPORTED_VERSION = bytes.fromhex("00000010 00000001 0023 00000001 0012 0000 0004")
PRODUCE_V3 = (
    bytes.fromhex(
        "0000006f 0000 0003 00000007 0004 64656d6f ffff ffff 00007530 00000001 0001 74 00000001 00000000 00000046"
    )
    + BATCH_A
)
PRODUCE_V9 = (
    bytes.fromhex("00000068 0000 0009 00000007 0004 64656d6f 00 00 ffff 00007530 02 02 74 02 00000000 47")
    + BATCH_A
    + bytes.fromhex("00 00 00")
)
PRODUCE_V9_OK = bytes.fromhex(
    "00000030 00000007 00 02 02 74 02 00000000 0000 0000000000000000 ffffffffffffffff 0000000000000000"
    "01 00 00 00 00000000 00"
)
PRODUCE_V3_TIMED_OUT = bytes.fromhex(
    "00000029 00000007 00000001 0001 74 00000001 00000000 0007 0000000000000005 ffffffffffffffff 00000000"
)

BATCHES = pytest.mark.parametrize(
    ("batch", "records", "producer"),
    [(BATCH_A, RECORDS_A, (-1, -1, -1)), (BATCH_B, RECORDS_B, (1000, 0, 0))],
    ids=["one record", "idempotent, two records"],
)


def produce(kio: Any) -> Any:
    return kio.ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout=timedelta(milliseconds=30_000),
        topic_data=(
            kio.TopicProduceData(name="t", partition_data=(kio.PartitionProduceData(index=0, records=BATCH_A),)),
        ),
    )


REQUESTS = pytest.mark.parametrize(
    ("encoded", "correlation_id", "request_"),
    [
        (API_VERSIONS_V3, 1, ApiVersionsRequest(client_software_name="py", client_software_version="1.0")),
        (PRODUCE_V3, 7, produce(v3)),
        (PRODUCE_V9, 7, produce(v9)),
    ],
    ids=["ApiVersions v3", "Produce v3", "Produce v9"],
)


@REQUESTS
def test_requests(encoded: bytes, correlation_id: int, request_: Any) -> None:
    assert encode_request(request_, correlation_id, "demo") == encoded
    decoder = FrameDecoder()
    decoder.feed(encoded)
    received = decoder.next_frame()
    assert received is not None
    header = decode_request_header(received, is_flexible(*peek_api(received)))
    assert (header.correlation_id, header.client_id) == (correlation_id, "demo")
    assert decode_request(header.api_key, header.api_version, received, header.body_offset) == request_


def test_the_answer_to_an_unknown_version_of_api_versions() -> None:
    response = ApiVersionsResponse(
        error_code=ErrorCode.unsupported_version,
        api_keys=(ApiVersion(api_key=i16(18), min_version=i16(0), max_version=i16(4)),),
    )
    assert encode_response(response, 1) == UNSUPPORTED_VERSION
    assert decode_response(18, 0, UNSUPPORTED_VERSION[4:]) == (1, response)


@pytest.mark.parametrize(
    ("encoded", "version", "partition"),
    [
        (PRODUCE_V9_OK, 9, PartitionProduceResponse(0, 0, 0, log_start_offset=0)),
        (PRODUCE_V3_TIMED_OUT, 3, PartitionProduceResponse(0, 7, 5)),
    ],
    ids=["v9 ok", "v3 REQUEST_TIMED_OUT"],
)
def test_produce_responses(encoded: bytes, version: int, partition: PartitionProduceResponse) -> None:
    assert encode_produce_response(version, 7, [TopicProduceResponse("t", None, (partition,))]) == encoded
    correlation_id, response = decode_response(0, version, encoded[4:])
    assert correlation_id == 7
    assert encode_response(response, 7) == encoded
    declared = frame(declared_response_header(version // 9), produce_response(version))
    assert declared.build(declared.parse(encoded)) == encoded


@pytest.mark.parametrize(("encoded", "version"), [(PRODUCE_V3, 3), (PRODUCE_V9, 9)])
def test_produce_requests_by_the_declaration(encoded: bytes, version: int) -> None:
    declared = frame(request_header(1 + version // 9), produce_request(version))
    parsed = declared.parse(encoded)
    assert parsed.body.topic_data[0].partition_data[0].records == BATCH_A
    assert declared.build(parsed) == encoded


@BATCHES
def test_batches(batch: bytes, records: list[Record], producer: tuple[int, int, int]) -> None:
    producer_id, producer_epoch, base_sequence = producer
    assert batch == encode_batch(
        records,
        base_timestamp_ms=T_MS,
        partition_leader_epoch=0,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )
    assert is_crc_valid(batch, 0, len(batch))
    assert decode_records(batch) == records
    header = read_batch_header(batch)
    assert header.size_in_bytes == len(batch)
    assert header.record_count == len(records)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == producer


@BATCHES
def test_batches_by_the_declaration_and_by_kio(
    batch: bytes, records: list[Record], producer: tuple[int, int, int]
) -> None:
    parsed = RECORD_BATCH.parse(batch)
    assert [(record.key, record.value) for record in parsed.batch.covered.records] == [record[:2] for record in records]
    assert RECORD_BATCH.build(parsed) == batch
    by_kio, _ = read_batch(batch, 0)
    assert [(record.key, record.value) for record in by_kio.records] == [record[:2] for record in records]
