"""Java's conversions (core/java_numbers.py); the expected values are those of a JVM."""

from __future__ import annotations

from math import inf, nan, nextafter

import pytest

from fakebroker.core.java_numbers import java_round, low_int


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (0.5, 1),
        (-0.5, 0),
        (-1.5, -1),
        (nextafter(0.5, 0), 0),  # plus a half it would be 1.0
        (2.0**52 + 1, 2**52 + 1),  # plus a half it would be even
        (5e-324, 0),
        (nextafter(2.0**63, 0), 2**63 - 1024),
        (2.0**63, 2**63 - 1),
        (-(2.0**63), -(2**63)),
        (1e303, 2**63 - 1),
        (-1e303, -(2**63)),
        (inf, 2**63 - 1),
        (-inf, -(2**63)),
        (nan, 0),
    ],
)
def test_a_double_becomes_the_nearest_long(value: float, rounded: int) -> None:
    assert java_round(value) == rounded


@pytest.mark.parametrize(
    ("value", "low"),
    [(1_500, 1_500), (2**31 - 1, 2**31 - 1), (2**31, -(2**31)), (10**13, 1_316_134_912), (2**63 - 1, -1), (-5, -5)],
)
def test_a_long_becomes_its_lower_half(value: int, low: int) -> None:
    assert low_int(value) == low
