"""The codecs, and the errors of decompression."""

from __future__ import annotations

from enum import IntEnum


class Codec(IntEnum):
    """The value of bits 0 to 2 of a batch's attributes. The names are those of compression.type, but for NONE."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class DecompressionError(Exception):
    """The bytes are not output of the codec."""


class DecompressedTooLargeError(Exception):
    """The decompressed bytes exceed the limit."""
