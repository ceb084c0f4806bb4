"""The order of concurrent events: first come, first served, or random.

Theory   Kafka's requests are handled by many threads, so any of those that are there at the same time may be first. The
         same holds for responses on different connections, and for timeouts of one millisecond. A broker that always
         takes the first hides bugs of a client that gets the second turn. Here the order is drawn from a seed: the same
         seed and the same arrivals give the same order. What Kafka keeps in order stays in order: requests and
         responses of a connection, the work of followers, and events at different milliseconds.
"""

from __future__ import annotations

from random import Random
from typing import Final

SCHEDULES: Final = ("first-come", "random")


def order_of(schedule: object, seed: int) -> Random | None:
    """Return the random source of the order; None for first-come. Raise ValueError for an unknown schedule."""
    if schedule not in SCHEDULES:
        raise ValueError(f"a schedule is {' or '.join(SCHEDULES)}, not {schedule!r}")
    return Random(f"schedule of {seed}") if schedule == "random" else None
