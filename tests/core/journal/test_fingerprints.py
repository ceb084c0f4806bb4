"""A record has the same fingerprint in all encodings."""

from __future__ import annotations

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batches import batch_of, flipped

from fakebroker.core.journal.fingerprints import (
    MOST_BYTES,
    MOST_RECORDS,
    fingerprint,
    fingerprints,
    fingerprints_if_whole,
)
from fakebroker.protocol.record_batch import Record

maybe_bytes = st.none() | st.binary(max_size=12)
headers = st.lists(st.tuples(st.text(max_size=3), maybe_bytes), max_size=2).map(tuple)
records = st.builds(Record, maybe_bytes, maybe_bytes, headers, st.none(), st.none())

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


@given(listed=st.lists(records, min_size=1, max_size=8))
def test_records_have_the_same_fingerprint_if_and_only_if_they_say_the_same(listed: list[Record]) -> None:
    marks = fingerprints(batch_of(listed))

    assert marks == tuple(map(fingerprint, listed))
    for a, mark_a in zip(listed, marks, strict=True):
        for b, mark_b in zip(listed, marks, strict=True):
            assert (mark_a == mark_b) == (a == b)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS.keys())
def test_the_batch_makes_no_difference(codec: int) -> None:
    record = Record(b"k", b"v", (("h", b"x"),))
    alone = fingerprints(batch_of([record]))
    later = record._replace(timestamp_ms=1_700_000_000_123)
    among_others = batch_of([Record(None, b"first"), later], codec, 1_700_000_000_000, producer_id=5, base_sequence=9)

    assert fingerprints(among_others)[1:] == alone


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    assert blake2b(b"\x02k\x02v\x00", digest_size=8).hexdigest() == "bcfd27289aeb0fa9"
    assert fingerprints(batch_of([Record(b"k", b"v")])) == ("bcfd27289aeb0fa9",)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS.keys())
def test_a_batch_that_was_refused_has_them_if_it_is_whole(codec: int) -> None:
    whole = batch_of([Record(b"k", b"v")], codec)
    assert fingerprints_if_whole(whole) == fingerprints(whole)
    assert fingerprints_if_whole(flipped(whole)) == ()
    assert fingerprints_if_whole(whole[:40]) == ()
    assert fingerprints_if_whole(batch_of([Record(b"k", b"v")], codec, record_count=2)) == ()
    assert fingerprints_if_whole(batch_of([Record(b"k", b"v")], codec, record_count=-1)) == ()


def test_a_batch_that_cannot_be_decompressed_has_none() -> None:
    assert fingerprints_if_whole(batch_of([Record(b"k", b"v")], attributes=1)) == ()
    assert fingerprints_if_whole(batch_of([Record(b"k", b"v")], attributes=6)) == ()


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS.keys())
def test_a_batch_of_very_much_has_none(codec: int) -> None:
    """300,000 records in a few bytes would need 300,000 names, and delay all other requests."""
    most = batch_of([Record(b"", b"")] * MOST_RECORDS, codec)
    assert len(fingerprints(most)) == MOST_RECORDS
    for batch in (
        batch_of([Record(b"", b"")] * (MOST_RECORDS + 1), codec),
        batch_of([Record(b"", bytes(MOST_BYTES))], codec),
    ):
        assert fingerprints(batch) == fingerprints_if_whole(batch) == ()
