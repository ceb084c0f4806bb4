"""Python's own zstd (PEP 784); for Python 3.11 to 3.13 it is the package backports.zstd."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import DecompressionParameter, ZstdCompressor, ZstdDecompressor, ZstdError
else:
    from backports.zstd import DecompressionParameter, ZstdCompressor, ZstdDecompressor, ZstdError

__all__ = ["DecompressionParameter", "ZstdCompressor", "ZstdDecompressor", "ZstdError"]
