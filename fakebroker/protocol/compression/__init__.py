"""The codecs of a record batch: one block of bytes becomes another, at once or piece by piece.

Theory   gzip; snappy in the blocks of xerial's snappy-java, or raw; one lz4 frame of independent blocks; zstd frames.
         The caller limits the size of the output: a megabyte of zstd can expand to thirty gigabytes. Bytes behind the
         end are read or ignored as by Kafka's clients: gzip members, xerial streams and zstd frames follow each other,
         lz4 ends with its first frame. The time is linear in the sizes of input and output.
Units    sizes are bytes.
Source   clients/.../compress/{Gzip,Snappy,Lz4,Zstd}Compression.java and Lz4BlockInputStream.java @ 4.0;
         org.xerial.snappy SnappyInputStream and SnappyOutputStream 1.1.10.5.
Differs  Kafka has no limit. Compressed bytes differ from Kafka's, which uses other implementations and levels; they
         decompress to the same. Reserved bits in a gzip header are refused; Kafka ignores them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

from cramjam import DecompressionError as CodecError
from cramjam import gzip, lz4, snappy, zstd

from fakebroker.protocol.compression.codec import Codec, DecompressedTooLargeError, DecompressionError
from fakebroker.protocol.compression.gzip_members import gunzip
from fakebroker.protocol.compression.lz4_blocks import unlz4
from fakebroker.protocol.compression.snappy_blocks import HEADER as XERIAL_HEADER
from fakebroker.protocol.compression.snappy_blocks import I32, unsnappy
from fakebroker.protocol.compression.zstd_blocks import unzstd

__all__ = ["Codec", "DecompressedTooLargeError", "DecompressionError", "compress", "decompress", "decompress_pieces"]

_XERIAL_BLOCK = 32 * 1024


def compress(codec: int, data: bytes) -> bytes:
    """Return the records of a batch, compressed by `codec`."""
    return _COMPRESS[codec](data)


def decompress(codec: int, data: bytes, max_bytes: int) -> bytes:
    """Return the decompressed records of a batch. Raises DecompressionError or DecompressedTooLargeError."""
    return b"".join(decompress_pieces(codec, data, max_bytes))


def decompress_pieces(codec: int, data: bytes, max_bytes: int) -> Iterator[bytes]:
    """Yield the decompressed bytes in pieces: of 256 KiB, or of one block if the codec has larger ones. An lz4 block
    has up to 4 MiB; a snappy block has no limit but 22 times its compressed size. A piece may be empty: a place to stop
    after much input.

    Raises DecompressionError or DecompressedTooLargeError when it gets there.
    """
    size = 0
    try:
        for piece in _DECOMPRESS[codec](data, max_bytes):
            size += len(piece)
            if size > max_bytes:
                raise DecompressedTooLargeError
            yield piece
    except (CodecError, zlib.error) as error:
        raise DecompressionError(str(error)) from None


def _compress_snappy(data: bytes) -> bytes:
    blocks = [XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        blocks += I32.pack(len(block)), block
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

_DECOMPRESS: dict[int, Callable[[bytes, int], Iterator[bytes]]] = {
    Codec.GZIP: lambda data, _: gunzip(data),
    Codec.SNAPPY: unsnappy,
    Codec.LZ4: lambda data, _: unlz4(data),
    Codec.ZSTD: lambda data, _: unzstd(data),
}
