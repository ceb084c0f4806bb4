"""Limits of the validation of a batch: bounded memory, slices of bounded work, lists that end. Each of these attacks
once delayed the broker for seconds or minutes, or took gigabytes."""

from __future__ import annotations

import gzip
import random
import tracemalloc
from collections.abc import Callable

import pytest
from support import doses
from support.batches import TIME_MS, batch_of, keyed

from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.errors import RecordValidationError
from fakebroker.core.log.append import CheckedBatch, validate_append
from fakebroker.core.log.records.record_checks import MAX_RECORD_ERRORS
from fakebroker.protocol.compression import Codec, compress, decompress
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.record_batch import RECORD_BATCH_OVERHEAD, Record, decode_records, read_batch_header
from fakebroker.protocol.record_walk import record_facts
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.varint import encode_varint

TP = TopicPartition("t", 0)
LARGE = 200_000_000
CONFIG = TopicConfig(max_message_bytes=LARGE, segment_bytes=LARGE)
MIB = 1 << 20
TARGETS = ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")
DAY_MS = 86_400_000


def validated(batch: bytes, config: TopicConfig = CONFIG) -> CheckedBatch:
    return in_slices(batch, config)[0]


def in_slices(
    batch: bytes, config: TopicConfig = CONFIG, max_errors: int = MAX_RECORD_ERRORS
) -> tuple[CheckedBatch, int]:
    slices = validate_append(batch, config, TP, TIME_MS, max_errors)
    count = 1
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: CheckedBatch = end.value
            return result, count
        count += 1


def refused(batch: bytes, config: TopicConfig = CONFIG, max_errors: int = MAX_RECORD_ERRORS) -> KafkaError:
    with pytest.raises(KafkaError) as caught:
        in_slices(batch, config, max_errors)
    return caught.value


def peak_of(work: Callable[[], object]) -> int:
    """Return the peak of its memory, beyond the memory before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def record(index: int = 0, timestamp_delta: int = 0, fields: bytes = b"\1\1\0") -> bytes:
    body = b"\0" + encode_varint(timestamp_delta) + encode_varint(index) + fields
    return encode_varint(len(body)) + body


def many(count: int, codec: int, timestamp_delta: int = 0) -> bytes:
    """Return a batch of empty records. Only its first has that delta, and all have the offset 0."""
    body = record(0, timestamp_delta) + record() * (count - 1)
    return batch_of([], codec, body=body, record_count=count, last_offset_delta=count - 1)


def of_headers(count: int, codec: int) -> bytes:
    """Return a batch of one record with so many headers."""
    body = record(0, 0, b"\1\1" + encode_varint(count) + b"\0\1" * count)
    return batch_of([], codec, body=body, record_count=1, last_offset_delta=0)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_small_batch_takes_no_slice(codec: Codec) -> None:
    _, slices = in_slices(keyed(*[b"v" * 100] * 300, codec=codec))
    assert slices == 1


@pytest.mark.parametrize("codec", list(Codec))
def test_a_large_value_is_passed_by(codec: Codec) -> None:
    checked, slices = in_slices(keyed(bytes(10 * MIB), codec=codec))
    assert checked.largest_ms == TIME_MS
    # Compressed, it has to be decompressed; else only the CRC is to be found, MiB by MiB.
    assert 11 <= slices <= 12 if codec is Codec.NONE else slices >= 160


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_very_many_records_are_walked_over_in_slices(codec: Codec) -> None:
    count = doses.count(20_000, 40_000)
    body = b"".join(record(index) for index in range(count))
    batch = batch_of([], codec, body=body, record_count=count, last_offset_delta=count - 1)
    results: list[tuple[CheckedBatch, int]] = []
    assert peak_of(lambda: results.append(in_slices(batch))) < 1.5 * MIB + len(batch)
    [(_, slices)] = results
    assert slices >= len(body) / 65_536


# The list is made of records that are decompressed already; the walk above has all codecs every day.
@pytest.mark.parametrize("codec", doses.nightly_but([Codec.ZSTD], [Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.ZSTD]))
def test_the_list_of_bad_records_ends(codec: Codec) -> None:
    """A frame of 9 KiB with 14.9 million records and a bad timestamp once took 7.9 GiB and more than 100 s."""
    config = TopicConfig(max_message_bytes=LARGE, segment_bytes=LARGE, message_timestamp_before_max_ms=DAY_MS)
    count = 20_000
    body = b"".join(record(index) for index in range(count))
    batch = batch_of(
        [], codec, body=body, record_count=count, last_offset_delta=count - 1, base_timestamp_ms=TIME_MS - 2 * DAY_MS
    )
    errors: list[KafkaError] = []
    peak = peak_of(lambda: errors.append(refused(batch, config)))
    [error] = errors
    assert isinstance(error, RecordValidationError)
    assert error.code is ErrorCode.invalid_timestamp
    assert [index for index, _ in error.record_errors] == list(range(MAX_RECORD_ERRORS))
    assert error.record_errors[-1][1].startswith(f"Timestamp {TIME_MS - 2 * DAY_MS} of message with offset 9999 is out")
    assert peak < 8 * MIB


def test_records_without_keys_are_counted_even_if_they_are_not_listed() -> None:
    config = TopicConfig(cleanup_policy=("compact",))
    count = 20_000
    error = refused(many(count, Codec.ZSTD), config, 10)
    assert isinstance(error, RecordValidationError)
    assert error.code is ErrorCode.invalid_record
    assert len(error.record_errors) == 10
    assert error.message.startswith("One or more records have been rejected due to 20000 record errors in total")


def test_a_bad_timestamp_behind_a_full_list_is_still_told() -> None:
    """The error code of the batch is that of timestamps if there is one."""
    config = TopicConfig(cleanup_policy=("compact",), message_timestamp_before_max_ms=DAY_MS)
    batch = batch_of([Record(None, b"")] * 50 + [Record(b"k", b"", (), TIME_MS - 2 * DAY_MS)])
    for most, listed in ((10, 10), (50, 50), (51, 51), (0, 1)):
        error = refused(batch, config, most)
        assert isinstance(error, RecordValidationError)
        assert error.code is ErrorCode.invalid_timestamp
        assert error.message == "One or more records have been rejected due to invalid timestamp"
        assert len(error.record_errors) == listed


@pytest.mark.parametrize(
    ("source", "target"),
    doses.nightly_but(
        [(Codec.GZIP, "producer"), (Codec.GZIP, "uncompressed"), (Codec.GZIP, "zstd"), (Codec.NONE, "gzip")],
        [(source, target) for source in (Codec.NONE, Codec.GZIP) for target in TARGETS],
    ),
)
def test_a_record_of_very_many_headers(source: Codec, target: str) -> None:
    """A record with 2.5 million headers in a topic that recompresses once took 889 MiB."""
    headers = doses.count(35_000, 50_000)
    batch = of_headers(headers, source)
    config = TopicConfig(max_message_bytes=LARGE, segment_bytes=LARGE, compression_type=target)
    results: list[tuple[CheckedBatch, int]] = []
    peak = peak_of(lambda: results.append(in_slices(batch, config)))
    # What is written is there as a whole: in parts, together, as a batch, and as bytes.
    assert peak < 4 * (len(batch) if target == "producer" else 2 * headers) + MIB / 2
    [(checked, slices)] = results
    assert slices > 2 * headers / 65_536
    header = read_batch_header(checked.data)
    records = (
        decompress(header.compression, checked.data[RECORD_BATCH_OVERHEAD:], LARGE)
        if header.compression
        else (checked.data[RECORD_BATCH_OVERHEAD:])
    )
    assert records == of_headers(headers, Codec.NONE)[RECORD_BATCH_OVERHEAD:]


@pytest.mark.parametrize("target", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_large_records_are_recompressed_as_they_are(target: str) -> None:
    config = TopicConfig(max_message_bytes=LARGE, segment_bytes=LARGE, compression_type=target)
    records = [
        Record(
            b"k",
            random.Random(index).randbytes(40_000) * 2,
            (("h" * 70_000, b"x"), ("\u20ac", None)),
            TIME_MS + index,
            index,
        )
        for index in range(9)
    ]
    source = Codec.ZSTD if target != "zstd" else Codec.GZIP
    checked, slices = in_slices(batch_of(records, source), config)
    assert slices > 5
    header = read_batch_header(checked.data)
    body = checked.data[RECORD_BATCH_OVERHEAD:]
    if header.compression:
        body = decompress(header.compression, body, LARGE)
    plain = batch_of(records)
    assert body == plain[RECORD_BATCH_OVERHEAD:]
    assert decode_records(plain)[8].timestamp_ms == TIME_MS + 8 == checked.largest_ms == header.max_timestamp_ms
    assert header.base_timestamp_ms == TIME_MS


def test_what_becomes_too_large_is_given_up_at_once() -> None:
    """A megabyte decompresses to a hundred: without compression it is too large after the first one."""
    config = TopicConfig(compression_type="uncompressed")
    value = bytes(90 * MIB)
    batch = keyed(value, codec=Codec.ZSTD)
    assert refused(batch, config).code is ErrorCode.message_too_large
    del value
    assert peak_of(lambda: refused(batch, config)) < 4 * MIB


def test_a_frame_that_stands_for_nothing_takes_slices() -> None:
    """A gzip frame of many empty members: 8 MB once took 29.6 s."""
    body = gzip.compress(b"", mtime=0) * 50_000
    batch = batch_of([Record(b"k", b"v")], attributes=Codec.GZIP, body=body)
    assert refused(batch).code is ErrorCode.invalid_record
    slices = validate_append(batch, CONFIG, TP, TIME_MS)
    for _ in range(700):
        next(slices)
    slices.close()


def test_the_crc_of_a_large_batch_is_found_in_slices() -> None:
    batch = bytearray(keyed(bytes(3 * MIB)))
    batch[-1] ^= 1
    slices = validate_append(bytes(batch), CONFIG, TP, TIME_MS)
    for _ in range(3):
        next(slices)
    with pytest.raises(KafkaError) as caught:
        next(slices)
    assert caught.value.code is ErrorCode.corrupt_message


def test_what_is_met_first_is_told() -> None:
    """Records are broken, and so are the bytes after them: the error is that of the first, as in Kafka, unless the
    batch is small."""
    bad = record()[:-1] + b"\1"  # -1 headers
    noise = bytes(range(256)) * 4_000
    for body, code in ((bad + noise, ErrorCode.invalid_record), (bad, ErrorCode.unknown_server_error)):
        frame = compress(Codec.GZIP, body)
        batch = batch_of([], attributes=Codec.GZIP, body=frame[:-9], record_count=1, last_offset_delta=0)
        assert refused(batch).code is code


def test_the_facts_of_a_batch_are_those_of_the_walk() -> None:
    """A check of the helpers above: their batches have the stated facts."""
    batch = many(3, Codec.NONE, 5)
    facts = list(record_facts(batch, RECORD_BATCH_OVERHEAD, 3, TIME_MS))
    assert [(fact.timestamp_ms, fact.offset_delta) for fact in facts] == [(TIME_MS + 5, 0), (TIME_MS, 0), (TIME_MS, 0)]
