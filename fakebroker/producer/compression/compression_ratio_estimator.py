"""What share of its size a batch is expected to have when it is compressed, by topic.

Theory   A batch is open while nobody knows how small it will be, so how full it is has to be guessed: by the ratio that
         the batches before it had. The guess goes up at once, and a little further; down it goes slowly. A batch that
         a broker found too large sets it to what that batch had, and to 1 at least, so the next ones are smaller.
Units    compressed bytes for each uncompressed one, as a 32-bit float, whose rounding decides at the edge.
Source   clients/.../common/record/CompressionRatioEstimator.java of 2.0, record/internal/... of 4.3.
Differs  Kafka has one for all producers of a process, with a ratio for each codec. Here whoever makes an accumulator
         gives it one, or it has its own; and a producer has one codec.
"""

from __future__ import annotations

import struct
from typing import Final

from fakebroker.producer.generation import Generation

_FLOAT: Final = struct.Struct("f")


def f32(value: float) -> float:
    """The nearest 32-bit float."""
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
        """A batch is closed, and had this one. In 2.0 it may improve beyond that."""
        current = self.estimation(topic)
        if observed > current:
            self._ratios[topic] = max(f32(current + _DETERIORATE_STEP), observed)
        elif observed < current:
            improved = f32(current - _IMPROVING_STEP)
            self._ratios[topic] = max(improved, observed) if self._is_new else improved

    def set_estimation(self, topic: str, ratio: float) -> None:
        self._ratios[topic] = ratio
