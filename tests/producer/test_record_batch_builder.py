"""The estimated size of a batch is its size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.producer.errors import IllegalProducerStateError
from fakebroker.producer.record_batch_builder import RecordBatchBuilder, estimate_size_upper_bound
from fakebroker.protocol.record_batch import decode_records, is_crc_valid, read_batch_header

data = st.one_of(st.none(), st.binary(max_size=200))
headers = st.lists(st.tuples(st.text(max_size=5), data), max_size=3)
records = st.lists(st.tuples(st.integers(0, 2**42), data, data, headers), min_size=1, max_size=20)


@given(records)
def test_the_size_is_exact_and_the_bytes_have_it_all(
    wanted: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]],
) -> None:
    builder = RecordBatchBuilder(100_000)
    for timestamp_ms, key, value, of_it in wanted:
        builder.append(timestamp_ms, key, value, of_it)
    built = builder.build()
    assert len(built) == builder.estimated_size_in_bytes()
    assert is_crc_valid(built, 0, len(built))
    assert read_batch_header(built).max_timestamp_ms == max(timestamp_ms for timestamp_ms, *_ in wanted)
    assert [
        (record.timestamp_ms, record.key, record.value, list(record.headers)) for record in decode_records(built)
    ] == wanted


@given(st.integers(0, 2**42), data, data, headers)
def test_one_record_fits_into_what_is_taken_for_it(
    timestamp_ms: int, key: bytes | None, value: bytes | None, of_it: list[tuple[str, bytes | None]]
) -> None:
    builder = RecordBatchBuilder(0)
    builder.append(timestamp_ms, key, value, of_it)
    assert len(builder.build()) <= estimate_size_upper_bound(key, value, of_it)


def test_a_second_record_has_to_fit_to_the_byte() -> None:
    first = RecordBatchBuilder(0)
    first.append(5, b"k", b"v", ())
    one = first.estimated_size_in_bytes()
    first.append(5, b"k", b"v", ())
    both = first.estimated_size_in_bytes()
    for limit, fits in ((both, True), (both - 1, False)):
        builder = RecordBatchBuilder(limit)
        builder.append(5, b"k", b"v", ())
        assert builder.has_room_for(5, b"k", b"v", ()) == fits
    assert not RecordBatchBuilder(one).is_full(), "an empty one never is"
    builder = RecordBatchBuilder(one)
    builder.append(5, b"k", b"v", ())
    assert builder.is_full()


def test_closed_is_full() -> None:
    builder = RecordBatchBuilder(1_000)
    builder.append(5, b"k", b"v", ())
    builder.close_for_record_appends()
    assert builder.is_full()
    assert not builder.is_closed, "its bytes are not made"
    builder.build()
    assert builder.is_closed


def test_an_aborted_batch_is_neither_built_nor_rewritten() -> None:
    builder = RecordBatchBuilder(1_000)
    builder.append(5, b"k", b"v", ())
    builder.build()
    builder.abort()
    with pytest.raises(IllegalProducerStateError):
        builder.reopen_and_rewrite_producer_state(1, 0, 0, False)
    with pytest.raises(IllegalProducerStateError):
        builder.build()
