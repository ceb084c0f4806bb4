"""Which codecs there are, and what may be wrong with what they are given."""

from __future__ import annotations

from enum import IntEnum


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
