"""How a producer compresses its batches: with which codec, and what it expects of it.

Source   compression.type; clients/.../common/record/CompressionType.java; KIP-110 (zstd, 2.1).
Differs  The codecs are the protocol's own, whose results are as right as Java's and a few bytes larger or smaller.
         Levels and block sizes are the codecs' defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fakebroker.producer.compression.compression_ratio_estimator import CompressionRatioEstimator
from fakebroker.protocol.compression import Codec, compress

CODECS: Final = {codec.name.lower(): codec for codec in Codec}  # by compression.type


class BatchCompression:
    """`compress` gives what becomes of the records' bytes, for a codec's number."""

    def __init__(
        self,
        codec: int,
        estimator: CompressionRatioEstimator,
        compress: Callable[[int, bytes], bytes] = compress,
    ) -> None:
        self.codec = codec
        self.estimator = estimator
        self._compress = compress

    def compress(self, data: bytes) -> bytes:
        return self._compress(self.codec, data)
