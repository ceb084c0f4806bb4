"""Decompression piece by piece: no large piece, no long way without one, and work that is linear in what goes in."""

from __future__ import annotations

import contextlib
import gzip
import tracemalloc
import zlib
from types import SimpleNamespace
from typing import Any

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
    decompress_pieces,
    gzip_members,
)
from fakebroker.protocol.compression.lz4_blocks import _header_checksum

COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
BOUND = 100_000_000
XERIAL = bytes.fromhex("82 53 4e 41 50 50 59 00 00 00 00 01 00 00 00 01")


def lz4_frame(descriptor: int, blocks: bytes, flags: int = 0x60) -> bytes:
    head = bytes([flags, descriptor])
    return bytes.fromhex("04 22 4d 18") + head + bytes([_header_checksum(head)]) + blocks + bytes(4)


def zstd_frame(blocks: bytes) -> bytes:
    """Return a frame with a window of 1 MiB."""
    return bytes.fromhex("28 b5 2f fd 00 50") + blocks + b"\1\0\0"


def zstd_rle(size: int) -> bytes:
    return (size << 3 | 2).to_bytes(3, "little") + b"a"


# What stands for nothing, or nearly: how it begins, what is repeated, how it ends, and the codec.
EMPTY = {
    "gzip members": (Codec.GZIP, b"", gzip.compress(b"", mtime=0), b""),
    "xerial blocks": (Codec.SNAPPY, XERIAL, b"\0\0\0\1\0", b""),
    "xerial streams": (Codec.SNAPPY, b"", XERIAL, b""),
    "lz4 blocks": (Codec.LZ4, lz4_frame(0x70, b"")[:-4], b"\1\0\0\0\0", bytes(4)),
    "zstd frames": (Codec.ZSTD, b"", bytes.fromhex("28 b5 2f fd 20 00 01 00 00"), b""),
    "zstd frames to skip": (Codec.ZSTD, b"", bytes.fromhex("50 2a 4d 18 00 00 00 00"), b""),
    "zstd blocks": (Codec.ZSTD, zstd_frame(b"")[:-3], b"\0\0\0", b"\1\0\0"),
}
# What stands for 100 MB.
LARGE = {
    "gzip": (Codec.GZIP, gzip.compress(bytes(BOUND), 1)),
    "xerial": (Codec.SNAPPY, compress(Codec.SNAPPY, bytes(BOUND))),
    "lz4": (Codec.LZ4, compress(Codec.LZ4, bytes(BOUND))),
    "lz4 blocks of 64 KiB": (
        Codec.LZ4,
        lz4_frame(0x40, compress(Codec.LZ4, bytes(1 << 16))[7:-4] * (BOUND // (1 << 16)), 0x70),  # with checksums
    ),
    "zstd": (Codec.ZSTD, compress(Codec.ZSTD, bytes(BOUND))),
    "zstd of four bytes a block": (Codec.ZSTD, zstd_frame(zstd_rle(1 << 17) * (BOUND // (1 << 17)))),
}


@pytest.mark.parametrize("name", EMPTY)
def test_what_stands_for_nothing_is_no_long_way(name: str) -> None:
    """Twice of it are twice as many pieces, and few enough bytes lie between two."""
    codec, start, unit, end = EMPTY[name]
    pieces = []
    for size in (200_000, 400_000):
        data = start + unit * (size // len(unit)) + end
        pieces_ = list(decompress_pieces(codec, data, 100))
        assert b"".join(pieces_) == b""
        pieces.append(len(pieces_))
        assert size / (len(pieces_) + 1) < 20_000
    assert pieces[0] * 1.9 - 2 <= pieces[1] <= pieces[0] * 2.1 + 2


def test_members_of_gzip_take_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """zlib copies what it does not use of what it is shown: a window, not all that is left."""
    shown = []

    class Member:
        def __init__(self, bits: int) -> None:
            self._member = zlib.decompressobj(bits)

        def decompress(self, data: bytes, size: int) -> bytes:
            shown.append(len(data))
            return self._member.decompress(data, size)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._member, name)

    monkeypatch.setattr(gzip_members, "zlib", SimpleNamespace(decompressobj=Member))
    data = gzip.compress(b"", mtime=0) * 5_000
    assert b"".join(gzip_members.gunzip(data)) == b""
    assert len(shown) < 11_000
    assert sum(shown) < 40 * len(data)


@pytest.mark.parametrize("name", LARGE)
def test_what_stands_for_much_comes_in_small_pieces(name: str) -> None:
    codec, data = LARGE[name]
    size = 0
    tracemalloc.start()
    try:
        for piece in decompress_pieces(codec, data, BOUND + (1 << 16)):
            assert len(piece) <= 256 * 1024
            size += len(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size >= BOUND - (1 << 17)
    assert peak < 1 << 20


@pytest.mark.parametrize("name", LARGE)
def test_the_bound_stops_it_at_once(name: str) -> None:
    codec, data = LARGE[name]
    pieces = decompress_pieces(codec, data, 1_000_000)
    size = 0
    with contextlib.suppress(DecompressedTooLargeError):
        for piece in pieces:
            size += len(piece)
    assert 700_000 < size <= 1_000_000


def test_a_raw_snappy_block_has_to_have_the_bytes_that_it_stands_for() -> None:
    """A wrong size would reserve up to 100 MB."""
    for claimed in (10_000_000, 90_000_000):
        size = bytearray()
        while claimed > 127:
            size.append(claimed & 127 | 128)
            claimed >>= 7
        tracemalloc.start()
        try:
            with pytest.raises(DecompressionError):
                decompress(Codec.SNAPPY, bytes(size) + bytes([claimed]) + b"\0a", BOUND)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 100_000


def test_snappy_at_its_best_is_read() -> None:
    raw = bytes(cramjam.snappy.compress_raw(bytes(1_000_000)))
    assert decompress(Codec.SNAPPY, raw, 1_000_000) == bytes(1_000_000)


def test_zstd_that_asks_for_too_large_a_window_is_refused() -> None:
    """Kafka's library refuses more than 2**27 as well."""
    assert decompress(Codec.ZSTD, bytes.fromhex("28 b5 2f fd 00 88 01 00 00"), 10) == b""
    with pytest.raises(DecompressionError, match="memory"):
        decompress(Codec.ZSTD, bytes.fromhex("28 b5 2f fd 00 90 01 00 00"), 10)


@pytest.mark.parametrize("codec", COMPRESSED)
@given(parts=st.lists(st.binary(max_size=40), min_size=1, max_size=4), times=st.integers(1, 9_000))
def test_the_pieces_are_the_whole(codec: Codec, parts: list[bytes], times: int) -> None:
    data = b"".join(part * times for part in parts)
    pieces = list(decompress_pieces(codec, compress(codec, data), max(len(data), 1)))
    assert b"".join(pieces) == data


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.ZSTD])
def test_streams_in_a_row_are_one(codec: Codec) -> None:
    data = b"".join(compress(codec, bytes([number]) * 1_000) for number in range(200))
    assert decompress(codec, data, 200_000) == b"".join(bytes([number]) * 1_000 for number in range(200))


@pytest.mark.parametrize(
    "frame",
    [
        "04 22 4d 18 60 40 83 00 00 00 00",  # the checksum of the header
        "04 22 4d 18 61 40 00 00 00 00 00",  # with a dictionary
        "04 22 4d 18 62 40 00 00 00 00 00",  # a flag that means nothing
        "04 22 4d 18 a0 40 00 00 00 00 00",  # version 2
        "04 22 4d 18 60 30 00 00 00 00 00",  # blocks of 16 KiB
        "04 22 4d 18 60 41 00 00 00 00 00",
        "04 22 4d 18 60 40 82 01 00 01 00",  # a block that is larger than a block can be
        "04 22 4d 18 68 40 00 00",
    ],
)
def test_lz4_frames_that_kafka_refuses(frame: str) -> None:
    with pytest.raises(DecompressionError):
        decompress(Codec.LZ4, bytes.fromhex(frame) + bytes(70_000), 1 << 20)


@pytest.mark.parametrize("size", [0, 1, 10, 100])
@pytest.mark.parametrize("level", [0, 4, 9])
def test_the_checksum_of_an_lz4_header_is_the_librarys(size: int, level: int) -> None:
    frame = bytes(cramjam.lz4.compress(bytes(size), level=level))
    descriptor = frame[4 : 14 if frame[4] & 8 else 6]
    assert _header_checksum(descriptor) == frame[4 + len(descriptor)]


def test_lz4_ends_with_its_mark_even_if_that_says_uncompressed() -> None:
    """Lz4BlockInputStream masks the bit away; and never looks at the checksum of the whole."""
    assert decompress(Codec.LZ4, bytes.fromhex("04 22 4d 18 60 40 82 00 00 00 80 ff"), 10) == b""
    head = bytes([0x64, 0x40])
    frame = bytes.fromhex("04 22 4d 18") + head + bytes([_header_checksum(head)]) + b"\1\0\0\x80a" + bytes(4) + b"nope"
    assert decompress(Codec.LZ4, frame, 10) == b"a"


def test_an_lz4_block_with_a_wrong_checksum_is_refused() -> None:
    frame = bytearray.fromhex(
        "04 22 4d 18 7c 40 04 00 00 00 00 00 00 00 1f 04 00 00 80 61 62 63 64 05 37 64 a3 00 00 00 00 05 37 64 a3"
    )
    assert decompress(Codec.LZ4, bytes(frame), 100) == b"abcd"
    frame[23] ^= 1
    with pytest.raises(DecompressionError):
        decompress(Codec.LZ4, bytes(frame), 100)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_what_comes_before_a_fault_comes(codec: Codec) -> None:
    """Kafka meets the records first, too."""
    seen = 0
    with contextlib.suppress(DecompressionError):
        for piece in decompress_pieces(codec, compress(codec, bytes(range(256)) * 4_000)[:-9], BOUND):
            seen += len(piece)
    assert 500_000 < seen <= 256 * 4_000
