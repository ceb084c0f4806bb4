"""A decompressor of snappy, block by block: the blocks of xerial's snappy-java, or one raw block.

Theory   Streams of blocks follow each other. A block cannot be divided: it is decompressed whole, as by
         SnappyInputStream. Its writers put 32 KiB into each. Three bytes of a block expand to 64 at most, so a block
         that claims more is refused before memory is allocated for it.
Units    sizes are bytes.
Source   org.xerial.snappy SnappyInputStream 1.1.10.5; google/snappy format_description.txt.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from cramjam import snappy

from fakebroker.protocol.compression.codec import DecompressedTooLargeError, DecompressionError

MAGIC = bytes.fromhex("82 53 4e 41 50 50 59 00")
HEADER = MAGIC + bytes.fromhex("00 00 00 01 00 00 00 01")  # version 1, compatible with 1
I32 = Struct(">i")
_MAGIC_HEAD = I32.unpack_from(MAGIC)[0]
_BLOCKS_PER_PIECE = 64


def unsnappy(data: bytes, max_bytes: int) -> Iterator[bytes]:
    """Yield the decompressed bytes, a piece for each block. No block may be larger than the rest of `max_bytes`."""
    if not data.startswith(MAGIC):
        yield _decompress_block(data, max_bytes)
        return
    if len(data) < len(HEADER):
        raise DecompressionError("the xerial header is cut")
    position = len(HEADER)
    blocks = 0
    while position + I32.size <= len(data):
        length = I32.unpack_from(data, position)[0]
        if length == _MAGIC_HEAD:
            # Another stream. SnappyInputStream checks the version of this header, but not of the first. Bytes that only
            # begin like the magic are the end.
            if len(data) - position < len(HEADER):
                raise DecompressionError("a xerial header is cut")
            if not data.startswith(MAGIC, position):
                break
            if I32.unpack_from(data, position + len(MAGIC))[0] < 1:
                raise DecompressionError("a xerial header of a version that never was")
            position += len(HEADER)
        else:
            position += I32.size
            if not 0 <= length <= len(data) - position:
                raise DecompressionError(f"a snappy block claims {length} bytes")
            piece = _decompress_block(data[position : position + length], max_bytes)
            max_bytes -= len(piece)
            position += length
            if piece:
                yield piece
        blocks += 1
        if blocks % _BLOCKS_PER_PIECE == 0:
            yield b""


def _decompress_block(block: bytes, max_bytes: int) -> bytes:
    size = snappy.decompress_raw_len(block)
    if size > max_bytes:
        raise DecompressedTooLargeError
    if size > 22 * len(block) + 64:
        raise DecompressionError(f"a snappy block of {len(block)} bytes claims to stand for {size}")
    return bytes(snappy.decompress_raw(block))
