"""A decompressor of gzip, piece by piece.

Theory   Members follow each other; other bytes behind a member are ignored. zlib gets a window of the input, never all
         of the rest: it returns unused input as a copy, which takes quadratic time for very many small members. A new
         member begins with a small window, which grows.
Units    sizes are bytes.
Source   java.util.zip.GZIPInputStream, which Kafka's clients use.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from fakebroker.protocol.compression.codec import DecompressionError

_MAGIC = b"\x1f\x8b\x08"
_WINDOW_BITS = 31  # a window of 2**15 bytes, and a gzip header
_PIECE_BYTES = 64 * 1024
_FIRST_INPUT = 16 * 1024  # nearly every batch is one member, and no larger
_NEXT_INPUT = 512
_LARGEST_INPUT = 64 * 1024
_MEMBERS_PER_PIECE = 64
_FLAGS_AT = 3
_KNOWN_FLAGS = 0x1F  # java.util.zip ignores the other flags, zlib refuses them


def gunzip(data: bytes) -> Iterator[bytes]:
    """Yield the decompressed bytes in pieces of at most 64 KiB; an empty one where much input has no output."""
    position = 0
    size = _FIRST_INPUT
    members = 0
    while True:
        member = zlib.decompressobj(_WINDOW_BITS)
        is_header = True
        left = b""
        is_full = False  # if it is full, more output may follow without more input
        while not member.eof:
            if not left and not is_full:
                if position >= len(data):
                    raise DecompressionError("the gzip stream is cut")
                left = data[position : position + size]
                position += len(left)
                size = min(2 * size, _LARGEST_INPUT)
                if is_header and len(left) > _FLAGS_AT and left[_FLAGS_AT] > _KNOWN_FLAGS:
                    left = left[:_FLAGS_AT] + bytes([left[_FLAGS_AT] & _KNOWN_FLAGS]) + left[_FLAGS_AT + 1 :]
                is_header = False
            piece = member.decompress(left, _PIECE_BYTES)
            left = member.unconsumed_tail
            is_full = len(piece) == _PIECE_BYTES
            if piece:
                yield piece
        position -= len(member.unused_data)
        if not data.startswith(_MAGIC, position):  # as java.util.zip does: another member, or bytes to ignore
            return
        size = _NEXT_INPUT
        members += 1
        if members % _MEMBERS_PER_PIECE == 0:
            yield b""
