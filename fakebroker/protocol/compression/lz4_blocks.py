"""A decompressor of one lz4 frame, a few blocks at a time.

Theory   Kafka's clients write independent blocks, and read no others. So a few blocks form a frame of their own, which
         the library decompresses, including its block checksums. The number of blocks is limited so that they cannot
         expand to more than 256 KiB, but it is at least one. The largest block that a frame may announce has 4 MiB.
         Kafka's stream ends with its first frame. The checksum of the frame's header is verified, but not checksum and
         size of the whole content, as in Kafka.
Units    sizes are bytes.
Source   clients/.../compress/Lz4BlockInputStream.java @ 4.0; lz4_Frame_format.md; xxhash_spec.md (XXH32, short input).
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from cramjam import lz4

from fakebroker.protocol.compression.codec import DecompressionError

_MAGIC = bytes.fromhex("04 22 4d 18")
_BLOCK_SIZE = Struct("<I")
_UNCOMPRESSED = 1 << 31
_END = bytes(4)
_AT_ONCE_BYTES = 256 * 1024
_MOST_EXPANSION = 255  # of one compressed byte: it can lengthen a match by at most that
_BLOCKS_PER_PIECE = 1_024
# The flags, and the bits of a block descriptor for the size of the largest block.
_VERSION = 1 << 6
_VERSION_MASK = 3 << 6
_INDEPENDENT_BLOCKS = 1 << 5
_BLOCK_CHECKSUMS = 1 << 4
_CONTENT_SIZE = 1 << 3
_CONTENT_CHECKSUM = 1 << 2
_RESERVED_FLAGS = 3
_LARGEST_BLOCK = {0x40: 1 << 16, 0x50: 1 << 18, 0x60: 1 << 20, 0x70: 1 << 22}


def unlz4(data: bytes) -> Iterator[bytes]:
    """Yield the decompressed bytes in pieces of at most 256 KiB, or of one larger block."""
    if len(data) < len(_MAGIC) + 3 or not data.startswith(_MAGIC):
        raise DecompressionError("not an lz4 frame")
    flags, descriptor = data[4], data[5]
    if not flags & _INDEPENDENT_BLOCKS:
        raise DecompressionError("lz4 blocks that depend on each other")
    position = 6 + (8 if flags & _CONTENT_SIZE else 0)
    if flags & _VERSION_MASK != _VERSION or flags & _RESERVED_FLAGS or descriptor not in _LARGEST_BLOCK:
        raise DecompressionError("an lz4 frame of a kind that Kafka does not know")
    if position >= len(data) or data[position] != _header_checksum(data[4:position]):
        raise DecompressionError("the header of the lz4 frame is not what its checksum says")
    largest = _LARGEST_BLOCK[descriptor]
    checksum_size = 4 if flags & _BLOCK_CHECKSUMS else 0
    head = bytes([_VERSION | _INDEPENDENT_BLOCKS | flags & _BLOCK_CHECKSUMS, descriptor])
    head = _MAGIC + head + bytes([_header_checksum(head)])
    position += 1
    start = position
    room = blocks = 0
    while True:
        if position + _BLOCK_SIZE.size > len(data):
            raise DecompressionError("the lz4 frame is cut")
        word = _BLOCK_SIZE.unpack_from(data, position)[0]
        size = word & ~_UNCOMPRESSED
        behind = position + _BLOCK_SIZE.size + size + checksum_size
        most = size if word & _UNCOMPRESSED else min(largest, _MOST_EXPANSION * size)
        if start < position and (size == 0 or room + most > _AT_ONCE_BYTES or blocks == _BLOCKS_PER_PIECE):
            yield _decompress(head + data[start:position] + _END, room)
            start = position
            room = blocks = 0
        if size == 0:
            if flags & _CONTENT_CHECKSUM and position + 8 > len(data):
                raise DecompressionError("the checksum of the lz4 frame is cut")
            return
        if size > largest:
            raise DecompressionError(f"an lz4 block of {size} bytes, where {largest} are the most")
        if behind > len(data):
            raise DecompressionError("an lz4 block is cut")
        room += most
        blocks += 1
        position = behind


def _decompress(frame: bytes, room: int) -> bytes:
    buffer = bytearray(room)
    size = lz4.decompress_into(frame, buffer)
    return bytes(memoryview(buffer)[:size])


def _header_checksum(descriptor: bytes) -> int:
    """Return the second byte of the XXH32 of fewer than 16 bytes."""
    word = 0xFFFFFFFF
    total = 374761393 + len(descriptor)
    whole = len(descriptor) // 4 * 4
    for at in range(0, whole, 4):
        lane = total + int.from_bytes(descriptor[at : at + 4], "little") * 3266489917 & word
        total = (lane << 17 | lane >> 15) * 668265263 & word
    for byte in descriptor[whole:]:
        lane = total + byte * 374761393 & word
        total = (lane << 11 | lane >> 21) * 2654435761 & word
    total = (total ^ total >> 15) * 2246822519 & word
    total = (total ^ total >> 13) * 3266489917 & word
    return (total ^ total >> 16) >> 8 & 0xFF
