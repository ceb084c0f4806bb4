"""Exponential back-off: each delay is twice the previous one, up to a maximum, with random jitter.
Units    milliseconds; attempts count from 0.
Source   clients/.../common/utils/ExponentialBackoff.java of 4.3 (KIP-580).
"""

from __future__ import annotations

import math
from collections.abc import Callable


class ExponentialBackoff:
    """A back-off policy. `random` returns a number from 0 up to 1; `jitter` is the largest relative deviation of a
    delay. If `initial_ms` is not below `max_ms`, every delay is `max_ms`."""

    def __init__(
        self, initial_ms: int, multiplier: int, max_ms: int, jitter: float, random: Callable[[], float]
    ) -> None:
        self._initial_ms = min(max_ms, initial_ms)
        self._multiplier = multiplier
        self._max_ms = max_ms
        self._jitter = jitter
        self._random = random
        self._max_exponent = (
            math.log(max_ms / max(self._initial_ms, 1)) / math.log(multiplier) if max_ms > self._initial_ms else 0.0
        )

    def backoff_ms(self, attempts: int) -> int:
        """Return the delay after `attempts` earlier failures. Each call draws new jitter, as in Kafka."""
        if self._max_exponent == 0.0:
            return self._initial_ms
        term = float(self._initial_ms)
        if attempts:
            term *= self._multiplier ** min(float(attempts), self._max_exponent)
        factor = 1.0 - self._jitter + self._random() * 2 * self._jitter if self._jitter else 1.0
        return min(int(factor * term), self._max_ms)
