"""A share over many trials, and its bounds with 95 % certainty.

Theory   Records of one trial share its failures: a single crash loses many at once. Trials are independent, so they are
         the units. The share is a ratio of two sums over trials, and its variance is that of the trials' residuals
         (Cochran, Sampling Techniques, 1977, chapter 6). The interval is symmetric on a logarithmic scale, since a
         share is not below 0. It uses Student's t, with as many degrees of freedom as there are trials with any event.
         With one such trial, it is the exact interval of a Poisson count of 1 (Garwood, 1936).
         If none of n trials has an event, the size of an event is unknown. But with 95 % certainty, less than 3/n of
         trials have one (the rule of three; exactly 1 - 0.05^(1/n)).
Limit    With fewer than about ten trials with events, bounds are too narrow if the losses of events differ much. Then
         87 to 95 of 100 intervals hold (tests/load/odds). A long outage that no trial had is in no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, sqrt
from typing import Final

_Z: Final = 1.959964  # for 95 %, two-sided
_ERROR: Final = 0.05
_POISSON_OF_ONE: Final = (0.025318, 5.571643)


@dataclass(frozen=True)
class RateEstimate:
    """A share, with its bounds `low` and `high`. `trials` had an event. If none had, there are no bounds; then fewer
    than the share `none_bound` of trials have an event. One trial alone has no bounds."""

    value: float
    low: float | None
    high: float | None
    trials: int
    none_bound: float | None = None


def rate_of(events: Sequence[float], units: Sequence[float]) -> RateEstimate | None:
    """Return the share of the units that had an event, by the numbers of both in each trial. Return None if there were
    no units."""
    n, total, of = len(events), sum(events), sum(units)
    if not of:
        return None
    rate, hit = total / of, sum(event > 0 for event in events)
    if not hit:
        return RateEstimate(0.0, None, None, 0, 1 - _ERROR ** (1 / n) if n > 1 else None)
    if n == 1:
        return RateEstimate(rate, None, None, 1)
    if hit == 1:
        low, high = _POISSON_OF_ONE
        return RateEstimate(rate, rate * low, min(rate * high, 1.0), 1)
    residuals = sum((event - rate * unit) ** 2 for event, unit in zip(events, units, strict=True))
    error = sqrt(n / (n - 1) * residuals) / of
    width = exp(student_t(min(hit, n - 1)) * error / rate)
    return RateEstimate(rate, rate / width, min(rate * width, 1.0), hit)


def student_t(degrees: int) -> float:
    """Return the 97.5 % quantile of Student's t, to 1 % (Fisher and Cornish; Abramowitz and Stegun 26.7.5)."""
    if degrees == 1:
        return 12.7062
    z, n = _Z, degrees
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )
