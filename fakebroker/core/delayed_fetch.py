"""Hold a consumer's fetch until there is enough to read, or until its wait is over.

Theory   Completes when any partition has an error, or when the readable bytes of all partitions together reach
         min_bytes. Completion, by either way, reads the log again and answers what is there: expiry is no error.
Units    max_wait_ms is monotonic milliseconds.
Source   core/.../server/DelayedFetch.scala @ 4.0.
Differs  Consumers only (a follower of this cluster does not come over the wire yet); no segments, no epochs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fakebroker.apis.context import FetchCallback, FetchPartition, FetchResult
from fakebroker.core.delayed_operation import DelayedOperation
from fakebroker.protocol.error_code import ErrorCode


class LogReader(Protocol):
    def read_from_log(self, partitions: Sequence[FetchPartition], max_bytes: int) -> list[FetchResult]: ...


def is_satisfied(results: Sequence[FetchResult], min_bytes: int) -> bool:
    """Whether a fetch with these results is answered now."""
    return (
        any(result.error_code != ErrorCode.none for result in results)
        or sum(len(result.records) for result in results) >= min_bytes
    )


class DelayedFetch(DelayedOperation):
    """One fetch waiting in the purgatory of the broker that took it."""

    __slots__ = ("_callback", "_max_bytes", "_min_bytes", "_partitions", "_reader")

    def __init__(
        self,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
        partitions: Sequence[FetchPartition],
        reader: LogReader,
        callback: FetchCallback,
    ) -> None:
        super().__init__(max_wait_ms)
        self._min_bytes = min_bytes
        self._max_bytes = max_bytes
        self._partitions = partitions
        self._reader = reader
        self._callback = callback

    def try_complete(self) -> bool:
        results = self._reader.read_from_log(self._partitions, self._max_bytes)
        return is_satisfied(results, self._min_bytes) and self.force_complete()

    def on_complete(self) -> None:
        self._callback(self._reader.read_from_log(self._partitions, self._max_bytes))

    def on_expiration(self) -> None:
        pass  # an empty answer is a normal one
