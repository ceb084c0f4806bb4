"""Move batches of a partition out of memory, from the logs of all its replicas at once.

Theory   The batches in memory are the end of each log. The run to move is the oldest of the log with the most bytes in
         memory. Replicas with the same batches then share the segment, as far as the logs agree. Batches that one
         replica alone has, such as those of a leader that was cut off, go in a run of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from fakebroker.core.log.log import Log
from fakebroker.core.log.segment import Segment
from fakebroker.core.log.store import Store


def move_out(logs: Sequence[Log], max_bytes: int, store: Store) -> None:
    """Move a run that takes about `max_bytes` of memory into the store. Raise StoreFullError, and change nothing, if it
    is full."""
    largest = max((log.contents for log in logs), key=lambda contents: contents.bytes_in_memory)
    run = largest.oldest_in_memory(max_bytes)
    if not run:
        return
    segment = Segment(store, run)
    for log in logs:
        log.contents.move_out(segment, run)
    for batch in run:
        if not batch.holders:
            batch.move_to(segment)
