"""The one place where the operating system's clocks become integer milliseconds, and where rounding happens.

Theory   Something that happens at 10.3 ms is stamped 11: by then it has happened. `reached()` returns 10 then: that has
         certainly been reached. A timeout of T starts at a stamp and ends when time has reached stamp + T. So it lasts
         at least T and at most T + 1 ms, whatever the fractions. Kafka floors both and may be up to 1 ms early.
Units    milliseconds; the monotonic clock of the machine, and the wall clock for record timestamps.
"""

from __future__ import annotations

from time import monotonic_ns, time_ns

from fakebroker.core.clock import Now

_NS_PER_MS = 1_000_000
_ONE_MOMENT_NS = 100_000
_TRIES = 5


def stamp() -> Now:
    """Return the time to stamp an event that happens now: monotonic milliseconds rounded up."""
    mono_ns, wall_ns = _both_ns()
    return Now(-(-mono_ns // _NS_PER_MS), wall_ns // _NS_PER_MS)


def reached() -> Now:
    """Return the time that has certainly been reached: monotonic milliseconds rounded down."""
    mono_ns, wall_ns = _both_ns()
    return Now(mono_ns // _NS_PER_MS, wall_ns // _NS_PER_MS)


def _both_ns() -> tuple[int, int]:
    """Return both clocks at one moment. If the process is held up between the reads, they are repeated, a few times."""
    for _ in range(_TRIES):
        mono_ns, wall_ns = monotonic_ns(), time_ns()
        if monotonic_ns() - mono_ns < _ONE_MOMENT_NS:
            break
    return mono_ns, wall_ns


def seconds_until(mono_ms: int) -> float:
    """Return the seconds until `reached()` returns `mono_ms`; 0 if it does already."""
    return max(mono_ms * _NS_PER_MS - monotonic_ns(), 0) / 1e9
