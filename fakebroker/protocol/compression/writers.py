"""Compressors that work piece by piece: they return output while more input is to come.

Theory   Code that compresses very much can see how large the output is so far, and need not hold it. The output
         decompresses to the input; it may differ from the bytes of `compress`.
Units    sizes are bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Protocol

from cramjam import lz4, snappy

from fakebroker.protocol.compression.codec import Codec
from fakebroker.protocol.compression.snappy_blocks import HEADER, I32
from fakebroker.protocol.compression.zstd_library import ZstdCompressor

_SNAPPY_BLOCK = 32 * 1024
_LZ4_BLOCK = 64 * 1024


class Compressor(Protocol):
    """A compressor. `compress` takes input and returns the output that is ready, `flush` returns the rest and ends
    it."""

    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


def writer(codec: int) -> Compressor:
    return _WRITERS[codec]()


class _Uncompressed:
    def compress(self, data: bytes, /) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


class _InBlocks:
    """A writer that divides the input into blocks of one size; the last one may be smaller."""

    def __init__(self, size: int, head: bytes) -> None:
        self._size = size
        self._ready = head
        self._rest = b""

    def compress(self, data: bytes, /) -> bytes:
        data = self._rest + data
        whole = len(data) // self._size * self._size
        parts = [self._ready]
        parts += [self.block(data[start : start + self._size]) for start in range(0, whole, self._size)]
        self._ready, self._rest = b"", data[whole:]
        return b"".join(parts)

    def flush(self) -> bytes:
        last = self.block(self._rest) if self._rest else b""
        return self._ready + last + self.end()

    def block(self, data: bytes) -> bytes:
        raise NotImplementedError

    def end(self) -> bytes:
        return b""


class _Snappy(_InBlocks):
    def __init__(self) -> None:
        super().__init__(_SNAPPY_BLOCK, HEADER)

    def block(self, data: bytes) -> bytes:
        block = bytes(snappy.compress_raw(data))
        return I32.pack(len(block)) + block


class _Lz4(_InBlocks):
    def __init__(self) -> None:
        super().__init__(_LZ4_BLOCK, b"")
        self._compressor = lz4.Compressor(content_checksum=False, block_linked=False)

    def block(self, data: bytes) -> bytes:
        self._compressor.compress(data)
        return bytes(self._compressor.flush())

    def end(self) -> bytes:
        return bytes(self._compressor.finish())


_WRITERS: dict[int, Callable[[], Compressor]] = {
    Codec.NONE: _Uncompressed,
    Codec.GZIP: lambda: zlib.compressobj(wbits=31),
    Codec.SNAPPY: _Snappy,
    Codec.LZ4: _Lz4,
    Codec.ZSTD: ZstdCompressor,
}
