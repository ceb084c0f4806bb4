"""A decompressor of zstd frames, a piece at a time.

Theory   Frames follow each other; skippable frames are skipped. Each call of the library takes at most 16 KiB and
         returns at most 256 KiB. The library also holds the window of the frame, as far as the frame has filled it.
         Like Kafka's, the library refuses a frame with a window above 128 MiB.
Units    sizes are bytes.
Source   RFC 8878, 3.1; com.github.luben.zstd ZstdInputStreamNoFinalizer 1.5.6.
"""

from __future__ import annotations

from collections.abc import Iterator

from fakebroker.protocol.compression.codec import DecompressionError
from fakebroker.protocol.compression.zstd_library import DecompressionParameter, ZstdDecompressor, ZstdError

_MAGIC = bytes.fromhex("28 b5 2f fd")
_SKIPPED_MAGIC = bytes.fromhex("2a 4d 18")  # behind a byte from 0x50 to 0x5f
_IN_BYTES = 16 * 1024
_OUT_BYTES = 256 * 1024
_OPTIONS: dict[int, int] = {DecompressionParameter.window_log_max: 27}
_SKIPPED_PER_PIECE = 1_024
_FRAMES_PER_PIECE = 32  # each needs a new decompressor, which costs more than the bytes of a small frame


def unzstd(data: bytes) -> Iterator[bytes]:
    """Yield the decompressed bytes in pieces of at most 256 KiB. Pieces are empty where much input has no output."""
    position = frames = skipped = 0
    while position < len(data):
        if data[position] & 0xF0 == 0x50 and data.startswith(_SKIPPED_MAGIC, position + 1):
            size = int.from_bytes(data[position + 4 : position + 8], "little")
            position += 8 + size
            if position > len(data):
                raise DecompressionError("a zstd frame to be skipped is cut")
            skipped += 1
            if skipped % _SKIPPED_PER_PIECE == 0:
                yield b""
            continue
        if not data.startswith(_MAGIC, position):
            raise DecompressionError("not a zstd frame")
        frame = ZstdDecompressor(options=_OPTIONS)
        while not frame.eof:
            given = data[position : position + _IN_BYTES] if frame.needs_input else b""
            if frame.needs_input and not given:
                raise DecompressionError("a zstd frame is cut")
            position += len(given)
            try:
                piece = frame.decompress(given, _OUT_BYTES)
            except ZstdError as error:
                raise DecompressionError(str(error)) from None
            if piece or not frame.eof:
                yield piece
        position -= len(frame.unused_data)
        frames += 1
        if frames % _FRAMES_PER_PIECE == 0:
            yield b""
