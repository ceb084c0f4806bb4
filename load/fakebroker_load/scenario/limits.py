"""Limits for a whole group's responses, beside the expectation for each: latency, and responses per second.

Theory   Latency counts from when a request was intended, so a broker cannot hide it by slowing the load down. Only
         responses have a latency; other requests are reported by their outcome.
Units    latency_limit_ms has milliseconds by percentile, as in {p50: 5, p99.9: 80, max: 200}.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

MAX: Final = "max"
SHARE_PATTERN: Final = r"^(max|p[0-9]{1,2}(\.[0-9]+)?)$"
_IS_LIMIT = "it is a mapping of percentiles to milliseconds above 0, as in {p99: 50, max: 200}"


def share_of(name: str) -> float:
    """Return 0.99 for p99, 1 for max. Raises ValueError for other texts."""
    if not re.match(SHARE_PATTERN, name):
        raise ValueError(f"{name!r} is no percentile")
    return 1.0 if name == MAX else float(name.removeprefix("p")) / 100


def parse_latency_limits(data: object) -> dict[str, float]:
    """Return the limits of a group. Raises ValueError with a text that follows the group's name."""
    if not isinstance(data, Mapping) or not data:
        raise ValueError(f"has latency_limit_ms = {data!r}; {_IS_LIMIT}")
    for name, limit in data.items():
        is_number = type(limit) in (int, float) and 0 < limit < float("inf")
        if not is_number or not re.match(SHARE_PATTERN, str(name)):
            raise ValueError(f"has latency_limit_ms {name}: {limit!r}; {_IS_LIMIT}")
    return dict(data)


def slips_of_limits(group: Any) -> Iterator[tuple[str, str]]:
    """Yield the mistakes of a RequestGroup (model.py): the key, and the rest of a sentence about the group."""
    for key in ("latency_limit_ms", "min_answers_per_s"):
        if group.acks == 0 and getattr(group, key):
            yield key, f"has acks 0, to which there is no answer: {key}"
