"""The codecs: what Kafka's clients write is read, what is broken or too large is refused."""

from __future__ import annotations

import contextlib
import gzip as standard_gzip

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.compression import (
    Codec,
    DecompressedTooLargeError,
    DecompressionError,
    compress,
    decompress,
)

COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b"the quick brown fox jumps over the lazy dog" * 4_000  # more than one block of xerial's


@pytest.mark.parametrize("codec", COMPRESSED)
@given(data=st.binary(max_size=300), times=st.integers(1, 500))
def test_what_was_compressed_comes_back(codec: Codec, data: bytes, times: int) -> None:
    data *= times
    assert decompress(codec, compress(codec, data), max(len(data), 1)) == data


@pytest.mark.parametrize("size", [0, 1, 100, 64 * 1024, 64 * 1024 + 1, 1 << 20, 5_000_000])
def test_lz4_blocks_do_not_depend_on_each_other(size: int) -> None:
    """Kafka's Java client reads no others: "Dependent block stream is unsupported"."""
    data = (TEXT * (size // len(TEXT) + 1))[:size]
    frame = compress(Codec.LZ4, data)
    assert frame[4] & 0x20
    assert decompress(Codec.LZ4, frame, max(size, 1)) == data


@pytest.mark.parametrize("codec", COMPRESSED)
def test_the_bound_is_exact(codec: Codec) -> None:
    compressed = compress(codec, TEXT)
    assert decompress(codec, compressed, len(TEXT)) == TEXT
    for bound in (len(TEXT) - 1, 1, 0):
        with pytest.raises(DecompressedTooLargeError):
            decompress(codec, compressed, bound)


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("damage", ["cut", "nonsense", "empty", "header only"])
def test_broken_bytes_are_refused(codec: Codec, damage: str) -> None:
    compressed = compress(codec, TEXT)
    broken = {"cut": compressed[:-7], "nonsense": b"\xff" * 40, "empty": b"", "header only": compressed[:6]}[damage]
    with pytest.raises(DecompressionError):
        decompress(codec, broken, 1 << 20)


@pytest.mark.parametrize("codec", COMPRESSED)
@given(data=st.data())
def test_any_bytes_give_bytes_or_an_error(codec: Codec, data: st.DataObject) -> None:
    compressed = bytearray(compress(codec, TEXT[:500]))
    compressed[data.draw(st.integers(0, len(compressed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    del compressed[data.draw(st.integers(0, len(compressed))) :]
    with contextlib.suppress(DecompressionError, DecompressedTooLargeError):
        assert len(decompress(codec, bytes(compressed), 5_000)) <= 5_000


def test_a_bomb_does_not_go_off() -> None:
    bomb = compress(Codec.ZSTD, bytes(300_000_000))
    assert len(bomb) < 100_000
    with pytest.raises(DecompressedTooLargeError):
        decompress(Codec.ZSTD, bomb, 10_000_000)


def test_gzip_may_have_members_and_something_behind_them() -> None:
    two = standard_gzip.compress(b"one ") + standard_gzip.compress(b"two")
    assert decompress(Codec.GZIP, two, 100) == b"one two"
    assert decompress(Codec.GZIP, two + b"\0\0\0", 100) == b"one two"
    with pytest.raises(DecompressedTooLargeError):
        decompress(Codec.GZIP, two, 6)
    with pytest.raises(DecompressionError):
        decompress(Codec.GZIP, two[:-3], 100)


def test_snappy_may_be_raw() -> None:
    raw = bytes(cramjam.snappy.compress_raw(TEXT))
    assert decompress(Codec.SNAPPY, raw, len(TEXT)) == TEXT
    with pytest.raises(DecompressedTooLargeError):
        decompress(Codec.SNAPPY, raw, len(TEXT) - 1)


XERIAL = bytes.fromhex("82 53 4e 41 50 50 59 00")


@pytest.mark.parametrize(
    "rest",
    [
        b"\0\0\0\1",  # the header is cut
        b"\0\0\0\0\0\0\0\1",  # version 0
        b"\0\0\0\1\0\0\0\1\0\0\0\x09\1",  # a block beyond the end
        b"\0\0\0\1\0\0\0\1\xff\xff\xff\xff",  # a block of -1 bytes
    ],
)
def test_bad_xerial_blocks(rest: bytes) -> None:
    with pytest.raises(DecompressionError):
        decompress(Codec.SNAPPY, XERIAL + rest, 100)


def test_a_xerial_stream_may_end_within_the_next_length() -> None:
    assert decompress(Codec.SNAPPY, compress(Codec.SNAPPY, b"abc") + b"\0\0", 100) == b"abc"


def test_no_codec_changes_nothing() -> None:
    assert compress(Codec.NONE, TEXT) is TEXT
