"""The walk over a stream is the walk over the whole, wherever the stream is cut; and so is what is written anew."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from protocol_strategies import records
from support import doses

from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.record_batch import RECORD_BATCH_OVERHEAD, Record, encode_batch
from fakebroker.protocol.record_stream.rewriting import RecordSizes, RewritingStream
from fakebroker.protocol.record_stream.walks import FactsStream, SummaryStream
from fakebroker.protocol.record_walk import (
    OverlongSizeError,
    RecordFacts,
    RecordsSummary,
    field_at,
    record_facts,
    varint_at,
    walk_records,
    wrap_int64,
)
from fakebroker.protocol.varint import encode_varint

LARGEST = 2**31 - 1
record_lists = st.lists(records, min_size=1, max_size=5)
cuts = st.lists(st.integers(0, 200), max_size=8) | st.just(list(range(400)))


class Facts(FactsStream):
    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.seen: list[tuple[int, int, int, int]] = []

    def on_facts(self, delta_ms: int, offset_delta: int, key_size: int, value_size: int) -> None:
        assert self.index == len(self.seen)
        self.seen.append((delta_ms, offset_delta, key_size, value_size))


def pieces(data: bytes, places: list[int]) -> Iterator[bytes]:
    start = 0
    for place in [*sorted(place for place in places if place < len(data)), len(data)]:
        yield data[start:place]
        start = place


def whole(data: bytes, count: int, check_sizes: bool, largest: int) -> RecordsSummary | str:
    try:
        return walk_records(data, 0, count, check_sizes, largest)
    except InvalidRecordError as error:
        return said(error)


def streamed(data: bytes, count: int, check_sizes: bool, largest: int, places: list[int]) -> RecordsSummary | str:
    stream = SummaryStream(count, check_sizes, largest)
    try:
        for piece in pieces(data, places):
            stream.feed(piece)
        stream.finish()
    except InvalidRecordError as error:
        return said(error)
    assert stream.index == count
    return stream.summary


def said(error: InvalidRecordError) -> str:
    """The kind of the error, and its text as far as a stream can know it."""
    text = str(error)
    if text.endswith("left behind the last record."):
        return "left behind"
    return f"{isinstance(error, OverlongSizeError)} {text}"


def body_of(batch_records: list[Record]) -> bytes:
    return encode_batch(batch_records, base_timestamp_ms=0)[RECORD_BATCH_OVERHEAD:]


@given(record_lists, cuts, st.booleans())
def test_whole_records(batch_records: list[Record], places: list[int], check_sizes: bool) -> None:
    data = body_of(batch_records)
    summary = streamed(data, len(batch_records), check_sizes, LARGEST, places)
    assert isinstance(summary, RecordsSummary)
    assert summary == whole(data, len(batch_records), check_sizes, LARGEST)


@given(record_lists, cuts, st.booleans(), st.sampled_from([LARGEST, 9, 40]), st.data())
def test_damaged_records(
    batch_records: list[Record], places: list[int], check_sizes: bool, largest: int, data: st.DataObject
) -> None:
    body = bytearray(body_of(batch_records))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(body) - 1)) if body else 0
        match data.draw(st.sampled_from(["change", "cut", "insert", "append"])):
            case "change" if body:
                body[place] = data.draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0x81, 0xFF, body[place] ^ 1]))
            case "cut":
                del body[place:]
            case "insert":
                body[place:place] = data.draw(st.binary(min_size=1, max_size=6))
            case _:
                body += data.draw(st.binary(min_size=1, max_size=3))
    count = max(len(batch_records) + data.draw(st.integers(-1, 1)), 1)
    damaged = bytes(body)
    assert streamed(damaged, count, check_sizes, largest, places) == whole(damaged, count, check_sizes, largest)


@given(st.binary(max_size=60), st.integers(1, 4), st.booleans(), cuts)
@example(bytes.fromhex("10 00 00 00 00 01 02 00 08 00"), 2, False, [3])  # the last value reaches behind the end
def test_any_bytes(data: bytes, count: int, check_sizes: bool, places: list[int]) -> None:
    assert streamed(data, count, check_sizes, LARGEST, places) == whole(data, count, check_sizes, LARGEST)


@given(record_lists, cuts)
def test_facts(batch_records: list[Record], places: list[int]) -> None:
    data = body_of(batch_records)
    stream = Facts(len(batch_records))
    for piece in pieces(data, places):
        stream.feed(piece)
    stream.finish()
    assert stream.seen == [
        (fact.timestamp_ms, fact.offset_delta, fact.key_size, fact.value_size)
        for fact in record_facts(data, 0, len(batch_records), 0)
    ]


def odd(number: int) -> bytes:
    """A varint that is longer than it has to be."""
    encoded = encode_varint(number)
    return encoded[:-1] + bytes([encoded[-1] | 0x80]) + b"\x80\0" if len(encoded) < 3 else encoded


sizes = st.sampled_from([encode_varint, odd])
texts = st.none() | st.binary(max_size=5) | st.sampled_from([b"v" * 200, "\u20ac".encode() * 9, b"\xe2\x82" * 40])


@st.composite
def odd_records(draw: st.DrawFn) -> bytes:
    """A record as Kafka reads it, but would not write it."""

    def sized(data: bytes | None) -> bytes:
        return draw(st.sampled_from([b"\1", b"\3"])) if data is None else draw(sizes)(len(data)) + data

    headers = draw(st.lists(st.tuples(texts.filter(lambda text: text is not None), texts), max_size=3))
    parts = [b"\7", draw(sizes)(draw(st.integers(-3, 300))), draw(sizes)(draw(st.integers(0, 5)))]
    parts += sized(draw(texts)), sized(draw(texts)), draw(sizes)(len(headers))
    for key, value in headers:
        parts += sized(key), sized(value)
    body = b"".join(parts)
    return encode_varint(len(body)) + body


def rewritten_whole(data: bytes, facts: list[RecordFacts], timestamp_ms: int | None) -> bytes:
    """All of it at once: what the stream is to write."""
    parts: list[bytes] = []
    base_timestamp_ms = 0
    for index, record in enumerate(facts):
        its_timestamp_ms = record.timestamp_ms if timestamp_ms is None else timestamp_ms
        if index == 0:
            base_timestamp_ms = its_timestamp_ms
        start = b"\0" + encode_varint(its_timestamp_ms - base_timestamp_ms) + encode_varint(index)
        fields = canonical_fields(data, record.body)
        parts += encode_varint(len(start) + len(fields)), start, fields
    return b"".join(parts)


def canonical_fields(data: bytes, body: int) -> bytes:
    position = body
    parts: list[bytes] = []
    for _ in range(2):
        size, position = field_at(data, position)
        parts += sized(data, size, position)
    count, position = varint_at(data, position)
    parts.append(encode_varint(count >> 1))
    for _ in range(count >> 1):
        size, position = field_at(data, position)
        key = data[position - size : position].decode(errors="replace").encode()
        parts += encode_varint(len(key)), key
        size, position = field_at(data, position)
        parts += sized(data, size, position)
    return b"".join(parts)


def sized(data: bytes, size: int, end: int) -> tuple[bytes, bytes]:
    return encode_varint(size), data[end - size : end] if size > 0 else b""


def rewritten(data: bytes, count: int, base_ms: int, timestamp_ms: int | None, places: list[int]) -> bytes:
    measured = RecordSizes()
    written = b""
    for writes in (False, True):
        stream = RewritingStream(count, base_ms, timestamp_ms, measured, writes)
        parts = []
        for piece in pieces(data, places):
            stream.feed(piece)
            parts.append(stream.take())
        stream.finish()
        written = b"".join(parts)
        assert bool(written) == writes
    return written


@given(st.lists(odd_records(), min_size=1, max_size=4), st.none() | st.just(77), cuts)
def test_written_anew(batch: list[bytes], timestamp_ms: int | None, places: list[int]) -> None:
    data = b"".join(batch)
    facts = list(record_facts(data, 0, len(batch), 50))
    expected = rewritten_whole(data, facts, timestamp_ms)
    assert rewritten(data, len(batch), 50, timestamp_ms, places) == expected
    # It is canonical now: once more changes nothing.
    base = timestamp_ms if timestamp_ms is not None else facts[0].timestamp_ms
    assert rewritten(expected, len(batch), base, None, places) == expected


@pytest.mark.parametrize("key", [b"k" * 200_000, b"\xe2\x82\xac" * 70_001, b"\xff\xe2\x82" * 70_001 + b"\xe2"])
def test_a_header_key_that_is_longer_than_a_piece(key: bytes) -> None:
    header = encode_varint(len(key)) + key + b"\1"
    body = bytes(3) + b"\1\1" + encode_varint(3) + b"\0\1" + header + b"\2a\2b"
    data = (encode_varint(len(body)) + body) * 2
    facts = list(record_facts(data, 0, 2, 0))
    assert rewritten(data, 2, 0, None, list(range(0, len(data), 65_535))) == rewritten_whole(data, facts, None)


def test_timestamps_that_wrap_around() -> None:
    body = b"\0" + encode_varint(2**63 - 1) + encode_varint(0) + b"\0\1\0"
    data = encode_varint(len(body)) + body
    for places in ([], list(range(30))):
        stream = RewritingStream(1, 1, None, RecordSizes(), False)
        for piece in pieces(data, places):
            stream.feed(piece)
        assert stream.first_timestamp_ms == wrap_int64(2**63) == -(2**63)


# Records that are larger than what may be held.


def many_headers(count: int) -> bytes:
    body = bytes(3) + b"\1\1" + encode_varint(count) + b"\0\1" * count
    return encode_varint(len(body)) + body


@pytest.mark.parametrize("rewrites", [False, True])
def test_a_record_of_very_many_headers_takes_no_memory(rewrites: bool) -> None:
    data = many_headers(doses.count(100_000, 500_000))  # if it kept them, 5 MB or more
    steps = [data[start : start + 65_536] for start in range(0, len(data), 65_536)]
    measured = RecordSizes()
    tracemalloc.start()
    try:
        streams = [RewritingStream(1, 0, None, measured, False)] if rewrites else [SummaryStream(1, True)]
        for stream in streams:
            for piece in steps:
                stream.feed(piece)
            stream.finish()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 500_000
    assert measured.cut_records == ([len(data) - len(encode_varint(len(data) - 4))] if rewrites else [])


def test_bytes_that_mean_nothing_may_be_left_out() -> None:
    size = 10_000_000
    body = bytes(3) + b"\1" + encode_varint(size)
    head = encode_varint(len(body) + size + 1) + body
    stream = SummaryStream(2, True)
    stream.feed(head)
    assert stream.to_pass_by == size
    stream.pass_by(size)
    stream.feed(b"\0" + head)
    stream.pass_by(size - 1)
    with pytest.raises(InvalidRecordError, match="end within record 1"):
        stream.finish()
    stream.feed(b"v\0")
    stream.finish()
    assert stream.summary == RecordsSummary(0, 0, 2, False)
