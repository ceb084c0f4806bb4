"""The compression of a producer's batches: its codec and its estimator.

Source   compression.type; clients/.../common/record/CompressionType.java; KIP-110 (zstd, 2.1).
Differs  The codecs are those of our protocol package. Their output is as valid as Java's, but a few bytes larger or
         smaller. Levels and block sizes are the codecs' defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fakebroker.producer.compression.compression_ratio_estimator import CompressionRatioEstimator
from fakebroker.protocol.compression import Codec, compress

CODECS: Final = {codec.name.lower(): codec for codec in Codec}  # by compression.type


class BatchCompression:
    """A codec and its estimator. `compress` takes the codec's number and the bytes of the records."""

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
