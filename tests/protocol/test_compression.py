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


DAMAGES = [(codec, damage) for codec in COMPRESSED for damage in ("cut", "nonsense", "empty", "header only")]
DAMAGES.remove((Codec.ZSTD, "empty"))  # that is nothing, compressed


@pytest.mark.parametrize(("codec", "damage"), DAMAGES)
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


@pytest.mark.parametrize("flags", [0x20, 0x40, 0x80, 0xE0])
def test_unknown_gzip_flags_are_ignored(flags: int) -> None:
    """java.util.zip ignores them too (found by generated traffic)."""
    first, second = (bytearray(standard_gzip.compress(text, mtime=0)) for text in (b"one ", b"two"))
    first[3] |= flags
    second[3] |= flags
    assert decompress(Codec.GZIP, bytes(first + second), 100) == b"one two"


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
        b"\0\0\0\1\0\0\0\1\0\0\0\x09\1",  # a block beyond the end
        b"\0\0\0\1\0\0\0\1\xff\xff\xff\xff",  # a block of -1 bytes
    ],
)
def test_bad_xerial_blocks(rest: bytes) -> None:
    with pytest.raises(DecompressionError):
        decompress(Codec.SNAPPY, XERIAL + rest, 100)


def test_a_xerial_stream_may_end_within_the_next_length() -> None:
    assert decompress(Codec.SNAPPY, compress(Codec.SNAPPY, b"abc") + b"\0\0", 100) == b"abc"


def test_xerial_streams_in_a_row_are_read_as_one() -> None:
    one, two = compress(Codec.SNAPPY, b"one "), compress(Codec.SNAPPY, b"two")
    assert decompress(Codec.SNAPPY, one + two + two, 10) == b"one twotwo"
    with pytest.raises(DecompressedTooLargeError):
        decompress(Codec.SNAPPY, one + two + two, 9)


@pytest.mark.parametrize(
    "rest",
    [
        XERIAL,  # the header is cut
        XERIAL[:4],
        XERIAL + b"\0\0\0\0\0\0\0\1",  # version 0
        XERIAL + b"\0\0\0\1\0\0\0\1\0\0\0\x09\1",  # a block beyond the end
    ],
)
def test_a_broken_second_xerial_stream(rest: bytes) -> None:
    with pytest.raises(DecompressionError):
        decompress(Codec.SNAPPY, compress(Codec.SNAPPY, b"one") + rest, 100)


def test_half_a_xerial_magic_ends_the_stream() -> None:
    half = XERIAL[:4] + b"nothing like it"
    assert decompress(Codec.SNAPPY, compress(Codec.SNAPPY, b"one") + half, 100) == b"one"


@pytest.mark.parametrize("version", [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\0\0\0\7"])
def test_the_version_of_the_first_xerial_header_means_nothing(version: bytes) -> None:
    compressed = compress(Codec.SNAPPY, b"one")
    assert decompress(Codec.SNAPPY, compressed[:8] + version + compressed[12:], 100) == b"one"


def lz4_frame(data: bytes, **options: bool) -> bytes:
    compressor = cramjam.lz4.Compressor(**{"content_checksum": False, "block_linked": False, **options})
    compressor.compress(data)
    return bytes(compressor.finish())


@pytest.mark.parametrize("data", [b"", b"one", TEXT])
@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("rest", [b"\0", b"behind the end", lz4_frame(b"two"), b"\xff" * 50])
def test_lz4_ends_with_its_first_frame(data: bytes, checksum: bool, rest: bytes) -> None:
    assert decompress(Codec.LZ4, lz4_frame(data, content_checksum=checksum) + rest, 1 << 20) == data


@pytest.mark.parametrize("data", [b"", b"one", TEXT])
def test_lz4_blocks_that_depend_on_each_other_are_refused(data: bytes) -> None:
    with pytest.raises(DecompressionError, match="depend"):
        decompress(Codec.LZ4, lz4_frame(data, block_linked=True), 1 << 20)


@pytest.mark.parametrize(
    "frame",
    [
        bytes.fromhex("50 2a 4d 18 00 00 00 00"),  # one to skip, in other readers
        bytes.fromhex("50 2a 4d 18 00 00 00 00") + lz4_frame(b"one"),
        bytes.fromhex("02 21 4c 18"),  # of the format before this one
        lz4_frame(b"one")[:-1],
        lz4_frame(b"one", content_checksum=True)[:-1],
        lz4_frame(b"one")[:-4],
    ],
)
def test_what_is_not_an_lz4_frame_from_its_magic_to_its_end(frame: bytes) -> None:
    with pytest.raises(DecompressionError):
        decompress(Codec.LZ4, frame, 100)


def test_lz4_with_a_content_size_and_block_checksums() -> None:
    # A block of four bytes that are not compressed, and all checksums that there can be.
    frame = bytes.fromhex(
        "04 22 4d 18 7c 40 04 00 00 00 00 00 00 00 1f 04 00 00 80 61 62 63 64 05 37 64 a3 00 00 00 00 05 37 64 a3"
    )
    assert decompress(Codec.LZ4, frame + b"rest", 100) == b"abcd"


def test_zstd_of_nothing_is_nothing() -> None:
    assert decompress(Codec.ZSTD, b"", 0) == b""


def test_no_codec_changes_nothing() -> None:
    assert compress(Codec.NONE, TEXT) is TEXT
