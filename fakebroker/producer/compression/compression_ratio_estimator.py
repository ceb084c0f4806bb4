"""The expected compression ratio of a batch, by topic.

Theory   The compressed size of an open batch is not known yet. So the producer estimates how full it is by the ratio of
         earlier batches. The estimate rises at once, by at least a step, and falls slowly. If a broker finds a batch
         too large, the estimate becomes that batch's ratio, and at least 1, so that the next batches are smaller.
Units    compressed bytes per uncompressed byte, as a 32-bit float, of which the rounding matters at the limit.
Source   clients/.../common/record/CompressionRatioEstimator.java of 2.0, record/internal/... of 4.3.
Differs  Kafka has one estimator for all producers of a process, with a ratio for each codec. Here each accumulator has
         its own, unless its creator replaces it, and a producer has one codec.
"""

from __future__ import annotations

import struct
from typing import Final

from fakebroker.producer.generation import Generation

_FLOAT: Final = struct.Struct("f")


def f32(value: float) -> float:
    """Return the nearest 32-bit float."""
    rounded: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    return rounded


_FIRST: Final = 1.0
_DETERIORATE_STEP: Final = f32(0.05)
_IMPROVING_STEP: Final = f32(0.005)


class CompressionRatioEstimator:
    def __init__(self, generation: Generation) -> None:
        self._is_new = generation.has_delivery_timeout
        self._ratios: dict[str, float] = {}

    def estimation(self, topic: str) -> float:
        return self._ratios.get(topic, _FIRST)

    def update_estimation(self, topic: str, observed: float) -> None:
        """Apply the ratio of a closed batch. In 2.0 the estimate may fall below the observed ratio."""
        current = self.estimation(topic)
        if observed > current:
            self._ratios[topic] = max(f32(current + _DETERIORATE_STEP), observed)
        elif observed < current:
            improved = f32(current - _IMPROVING_STEP)
            self._ratios[topic] = max(improved, observed) if self._is_new else improved

    def set_estimation(self, topic: str, ratio: float) -> None:
        self._ratios[topic] = ratio
