"""Java's conversions of doubles and wider numbers to whole numbers. Python's own conversions raise where these do not.

Source   The Java Language Specification, 5.1.3 Narrowing Primitive Conversion; java.lang.Math.round.
"""

from __future__ import annotations

import math
from typing import Final

_LEAST: Final = -(2**63)
_MOST: Final = 2**63 - 1


def java_round(value: float) -> int:
    """Return the nearest long, of two the larger one: Math.round(double). Values beyond a long give the nearest long,
    and NaN gives 0."""
    if math.isnan(value):
        return 0
    if value >= 2.0**63:
        return _MOST
    if value <= -(2.0**63):
        return _LEAST
    below = math.floor(value)
    return below + 1 if value - below >= 0.5 else below


def low_int(value: int) -> int:
    """Return the lower half of a long as an int, which may be negative: `(int) value` of Java, `.toInt` of Scala."""
    return (value + 2**31) % 2**32 - 2**31
