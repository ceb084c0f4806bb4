"""The codecs of a record batch: one block of bytes becomes another.

Theory   gzip; snappy in the blocks of xerial's snappy-java, or raw; one lz4 frame of independent blocks; zstd frames.
         What comes out is bounded by the caller: a megabyte of zstd can stand for thirty gigabytes. What is behind the
         end is read or left alone as by Kafka's clients: gzip members, xerial streams and zstd frames follow each
         other, lz4 ends with its first frame.
Units    sizes are bytes.
Source   clients/.../compress/{Gzip,Snappy,Lz4,Zstd}Compression.java and Lz4BlockInputStream.java @ 4.0;
         org.xerial.snappy SnappyInputStream and SnappyOutputStream 1.1.10.5.
Differs  Kafka decompresses as it walks and knows no bound. Compressed bytes differ from Kafka's, which uses other
         implementations and levels; they decompress to the same. Refused, where Kafka does not look: a wrong checksum
         or size of the whole lz4 content, an lz4 end mark with its top bit set, reserved bits in a gzip header.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from enum import IntEnum
from struct import Struct

from cramjam import DecompressionError as CodecError
from cramjam import gzip, lz4, snappy, zstd

__all__ = ["Codec", "DecompressedTooLargeError", "DecompressionError", "compress", "decompress"]


class Codec(IntEnum):
    """Bits 0 to 2 of a batch's attributes. The names are those of compression.type, but for NONE."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class DecompressionError(Exception):
    """The bytes are not what the codec writes."""


class DecompressedTooLargeError(Exception):
    """The bytes stand for more than the bound allows."""


_XERIAL_MAGIC = bytes.fromhex("82 53 4e 41 50 50 59 00")
_XERIAL_HEADER = _XERIAL_MAGIC + bytes.fromhex("00 00 00 01 00 00 00 01")  # version 1, compatible with 1
_XERIAL_BLOCK = 32 * 1024
_I32 = Struct(">i")
_XERIAL_MAGIC_HEAD = _I32.unpack_from(_XERIAL_MAGIC)[0]
_LZ4_MAGIC = bytes.fromhex("04 22 4d 18")
_LZ4_BLOCK_SIZE = Struct("<I")
_LZ4_UNCOMPRESSED = 1 << 31
# Bits of the flags of an lz4 frame.
_LZ4_INDEPENDENT_BLOCKS = 1 << 5
_LZ4_BLOCK_CHECKSUMS = 1 << 4
_LZ4_CONTENT_SIZE = 1 << 3
_LZ4_CONTENT_CHECKSUM = 1 << 2
_GZIP_MAGIC = b"\x1f\x8b\x08"
_GZIP_WINDOW = 31  # a window of 2**15 bytes, and a gzip header
_TOO_SMALL = "failed to write whole buffer"
_FIRST_GUESS = 64 * 1024


def compress(codec: int, data: bytes) -> bytes:
    """The records of a batch as `codec` has them."""
    return _COMPRESS[codec](data)


def decompress(codec: int, data: bytes, max_bytes: int) -> bytes:
    """The records of a batch of that codec. Raises DecompressionError or DecompressedTooLargeError."""
    try:
        return _DECOMPRESS[codec](data, max_bytes)
    except (CodecError, zlib.error) as error:
        raise DecompressionError(str(error)) from None


def _compress_snappy(data: bytes) -> bytes:
    blocks = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        blocks += _I32.pack(len(block)), block
    return b"".join(blocks)


def _compress_lz4(data: bytes) -> bytes:
    # lz4.compress would let each block refer to the one before, which Kafka's clients refuse.
    compressor = lz4.Compressor(content_checksum=False, block_linked=False)
    compressor.compress(data)
    return bytes(compressor.finish())


_COMPRESS: dict[int, Callable[[bytes], bytes]] = {
    Codec.NONE: lambda data: data,
    Codec.GZIP: lambda data: bytes(gzip.compress(data)),
    Codec.SNAPPY: _compress_snappy,
    Codec.LZ4: _compress_lz4,
    Codec.ZSTD: lambda data: bytes(zstd.compress(data)),
}


def _decompress_gzip(data: bytes, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        member = zlib.decompressobj(_GZIP_WINDOW)
        parts.append(member.decompress(data, max_bytes - size + 1))
        size += len(parts[-1])
        if size > max_bytes:
            raise DecompressedTooLargeError
        if not member.eof:
            raise DecompressionError("the gzip stream is cut")
        data = member.unused_data
        if not data.startswith(_GZIP_MAGIC):  # as java.util.zip does: another member, or something to leave alone
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _decompress_snappy(data: bytes, max_bytes: int) -> bytes:
    if not data.startswith(_XERIAL_MAGIC):
        return _decompress_raw_snappy(data, max_bytes)
    if len(data) < len(_XERIAL_HEADER):
        raise DecompressionError("the xerial header is cut")
    parts: list[bytes] = []
    size = 0
    position = len(_XERIAL_HEADER)
    while position + _I32.size <= len(data):
        length = _I32.unpack_from(data, position)[0]
        if length == _XERIAL_MAGIC_HEAD:
            # Another stream. SnappyInputStream looks at the version of this header, but not of the first; and what
            # begins like the magic and is not is where it ends.
            if len(data) - position < len(_XERIAL_HEADER):
                raise DecompressionError("a xerial header is cut")
            if not data.startswith(_XERIAL_MAGIC, position):
                break
            if _I32.unpack_from(data, position + len(_XERIAL_MAGIC))[0] < 1:
                raise DecompressionError("a xerial header of a version that never was")
            position += len(_XERIAL_HEADER)
            continue
        position += _I32.size
        if not 0 <= length <= len(data) - position:
            raise DecompressionError(f"a snappy block claims {length} bytes")
        parts.append(_decompress_raw_snappy(data[position : position + length], max_bytes - size))
        size += len(parts[-1])
        position += length
    return b"".join(parts)


def _decompress_raw_snappy(block: bytes, max_bytes: int) -> bytes:
    if snappy.decompress_raw_len(block) > max_bytes:
        raise DecompressedTooLargeError
    return bytes(snappy.decompress_raw(block))


def _growing(decompress_into: Callable[[bytes, bytearray], int]) -> Callable[[bytes, int], bytes]:
    """Decompress into a buffer that grows until the result fits, or would be larger than allowed."""

    def decompress_growing(data: bytes, max_bytes: int) -> bytes:
        guess = max(_FIRST_GUESS, 4 * len(data))
        while True:
            room = min(guess, max_bytes)
            buffer = bytearray(room)
            try:
                size = decompress_into(data, buffer)
            except CodecError as error:
                if _TOO_SMALL not in str(error):
                    raise
                if room == max_bytes:
                    raise DecompressedTooLargeError from None
                guess *= 8
                continue
            return bytes(memoryview(buffer)[:size])

    return decompress_growing


_decompress_lz4_frame = _growing(lz4.decompress_into)
_decompress_zstd_frames = _growing(zstd.decompress_into)


def _decompress_lz4(data: bytes, max_bytes: int) -> bytes:
    return _decompress_lz4_frame(data[: _end_of_lz4_frame(data)], max_bytes)


def _end_of_lz4_frame(data: bytes) -> int:
    """Kafka's stream begins with a frame and ends with it; the library goes on to the next, and skips some."""
    if len(data) < len(_LZ4_MAGIC) + 3 or not data.startswith(_LZ4_MAGIC):
        raise DecompressionError("not an lz4 frame")
    flags = data[len(_LZ4_MAGIC)]
    if not flags & _LZ4_INDEPENDENT_BLOCKS:
        raise DecompressionError("lz4 blocks that depend on each other")
    checksum_size = 4 if flags & _LZ4_BLOCK_CHECKSUMS else 0
    position = len(_LZ4_MAGIC) + 3 + (8 if flags & _LZ4_CONTENT_SIZE else 0)
    while position + _LZ4_BLOCK_SIZE.size <= len(data):
        size = _LZ4_BLOCK_SIZE.unpack_from(data, position)[0] & ~_LZ4_UNCOMPRESSED
        position += _LZ4_BLOCK_SIZE.size
        if size == 0:
            return position + (4 if flags & _LZ4_CONTENT_CHECKSUM else 0)
        position += size + checksum_size
    raise DecompressionError("the lz4 frame is cut")


def _decompress_zstd(data: bytes, max_bytes: int) -> bytes:
    return _decompress_zstd_frames(data, max_bytes) if data else b""


_DECOMPRESS: dict[int, Callable[[bytes, int], bytes]] = {
    Codec.GZIP: _decompress_gzip,
    Codec.SNAPPY: _decompress_snappy,
    Codec.LZ4: _decompress_lz4,
    Codec.ZSTD: _decompress_zstd,
}
