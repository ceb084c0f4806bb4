"""In which order things happen that could happen in any: first come, first served, or as it is drawn.

Theory   Kafka's requests are handled by many threads, so of those that are there at the same time any may be first; the
         same holds for answers on different connections, and for timeouts of one millisecond. A broker that always
         takes the first hides what a client does wrong when it is the second. Here the order is drawn from a seed: who
         has the seed, and the same arrivals, has the same order. What Kafka keeps in order stays in order: requests and
         answers of a connection, what followers do, what is due at different milliseconds.
"""

from __future__ import annotations

from random import Random
from typing import Final

SCHEDULES: Final = ("first-come", "random")


def order_of(schedule: object, seed: int) -> Random | None:
    """Who draws; None if nobody does. Raises ValueError for a schedule that there is not."""
    if schedule not in SCHEDULES:
        raise ValueError(f"a schedule is {' or '.join(SCHEDULES)}, not {schedule!r}")
    return Random(f"schedule of {seed}") if schedule == "random" else None
