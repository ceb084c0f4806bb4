"""Batches of a partition go out of memory: from the logs of all its replicas at once.

Theory   What is in memory is the end of each log. The run that goes is the oldest of the log that has most there; who
         has the same batches has the same segment then, as far as the logs agree. What one replica alone has, such as
         batches of a leader that was cut off, goes in a run of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from fakebroker.core.log.log import Log
from fakebroker.core.log.segment import Segment
from fakebroker.core.log.store import Store


def move_out(logs: Sequence[Log], max_bytes: int, store: Store) -> None:
    """Put a run that takes about so much memory into the store. Raises StoreFullError, and nothing has changed."""
    largest = max(logs, key=lambda log: log.bytes_in_memory)
    run = largest.oldest_in_memory(max_bytes)
    if not run:
        return
    segment = Segment(store, run)
    for log in logs:
        log.move_out(segment, run)
    for batch in run:
        if not batch.holders:
            batch.move_to(segment)
