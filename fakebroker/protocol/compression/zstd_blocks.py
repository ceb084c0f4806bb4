"""Decompress zstd frames, a few blocks at a time.

Theory   Frames follow each other; such as are to be skipped are. A block stands for 128 KiB at most, whatever it takes
         itself: four bytes may. So the library is given block after block, as many as cannot stand for more than
         256 KiB. What it needs beside is the window that a frame asks for, as far as there was so much: a frame that
         asks for more than 128 MiB is refused by the library, as by Kafka's.
Units    sizes are bytes.
Source   RFC 8878, 3.1; com.github.luben.zstd ZstdInputStreamNoFinalizer 1.5.6.
"""

from __future__ import annotations

from collections.abc import Iterator

from zstandard import ZstdDecompressor, ZstdError

from fakebroker.protocol.compression.codec import DecompressionError

_MAGIC = bytes.fromhex("28 b5 2f fd")
_SKIPPED_MAGIC = bytes.fromhex("2a 4d 18")  # behind a byte from 0x50 to 0x5f
_AT_ONCE_BYTES = 256 * 1024
_LARGEST_WINDOW = 1 << 27
_LARGEST_BLOCK = 128 * 1024
_HEADERS_PER_PIECE = 1_024
# Of the descriptor of a frame.
_SINGLE_SEGMENT = 1 << 5
_CHECKSUM = 1 << 2
_DICTIONARY_ID_SIZES = (0, 1, 2, 4)
_CONTENT_SIZE_SIZES = (0, 2, 4, 8)
# Of a block.
_HEADER = 3
_RLE = 1
_COMPRESSED = 2


def unzstd(data: bytes) -> Iterator[bytes]:
    """What the frames stand for, in pieces of at most some 256 KiB; an empty one where much stands for nothing."""
    decompressor = ZstdDecompressor(max_window_size=_LARGEST_WINDOW)
    position = frames = 0
    while position < len(data):
        frames += 1
        if frames % _HEADERS_PER_PIECE == 0:
            yield b""
        if data[position] & 0xF0 == 0x50 and data.startswith(_SKIPPED_MAGIC, position + 1):
            size = int.from_bytes(data[position + 4 : position + 8], "little")
            position += 8 + size
            if position > len(data):
                raise DecompressionError("a zstd frame to be skipped is cut")
            continue
        if not data.startswith(_MAGIC, position):
            raise DecompressionError("not a zstd frame")
        frame = decompressor.decompressobj()
        for start, end in _parts(data, position):
            try:
                piece = frame.decompress(data[start:end])
            except ZstdError as error:
                raise DecompressionError(str(error)) from None
            position = end
            if piece or not frame.eof:
                yield piece
        if not frame.eof:
            raise DecompressionError("a zstd frame is cut")


def _parts(data: bytes, start: int) -> Iterator[tuple[int, int]]:
    """From where to where the frame that begins at `start` is to be given to the library: all of it, or as much as
    there is."""
    position = start + len(_MAGIC)
    if position >= len(data):
        yield start, len(data)
        return
    descriptor = data[position]
    is_single = descriptor & _SINGLE_SEGMENT
    position += 1 + _DICTIONARY_ID_SIZES[descriptor & 3] + _CONTENT_SIZE_SIZES[descriptor >> 6]
    if not is_single or descriptor >> 6 == 0:
        position += 1  # the window, or a size of one byte
    room = blocks = 0
    is_last = False
    while not is_last and position + _HEADER <= len(data):
        header = data[position] | data[position + 1] << 8 | data[position + 2] << 16
        is_last = bool(header & 1)
        kind, size = header >> 1 & 3, header >> 3
        most = _LARGEST_BLOCK if kind == _COMPRESSED else size
        if blocks and (room + most > _AT_ONCE_BYTES or blocks == _HEADERS_PER_PIECE):
            yield start, position
            start = position
            room = blocks = 0
        room += most
        blocks += 1
        position += _HEADER + (1 if kind == _RLE else size)
    if is_last:
        position += 4 if descriptor & _CHECKSUM else 0
    else:
        position = len(data)
    yield start, min(position, len(data))
