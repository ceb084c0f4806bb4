"""Hold a fetch until there is enough to read, or until its wait is over.

Theory   Completes when, for any partition,
           A-D  this broker no longer leads it, has it, or knows it
           E    the leader epoch that the reader knows is another
           F    the reader is beyond the end of what it may read, as on a truncated leader
           H    the reader's log and this one part below the reader's offset
         or
           G    the readable bytes of all partitions together reach min_bytes.
         Completion, by either way, reads the log again and answers what is there: expiry is no error. The second read
         says nothing about a follower's position.
Units    max_wait_ms is monotonic milliseconds.
Source   core/.../server/DelayedFetch.scala @ 4.0.
Differs  No segments, so the other half of case F, an offset in an older segment, cannot be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from fakebroker.apis.context import FetchCallback, FetchParams, FetchPartition, FetchResult
from fakebroker.core.purgatory.delayed_operation import DelayedOperation
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.reads import diverging_epoch, end_offset, local_replica, readable_bytes
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.topic_partition import TopicPartition


class LogReader(Protocol):
    """The replica manager of the broker that took the request."""

    broker_id: int

    def hosted_partition_or_error(self, topic_partition: TopicPartition) -> Partition | ErrorCode: ...
    def read_from_log(self, params: FetchParams, partitions: Sequence[FetchPartition]) -> list[FetchResult]: ...


def is_satisfied(results: Sequence[FetchResult], min_bytes: int) -> bool:
    """Whether a fetch with these results is answered now."""
    return (
        any(result.error_code != ErrorCode.none or result.diverging_epoch for result in results)
        or sum(len(result.records) for result in results) >= min_bytes
    )


class DelayedFetch(DelayedOperation):
    """One fetch waiting in the purgatory of the broker that took it."""

    __slots__ = ("_callback", "_expirations", "_params", "_partitions", "_reader")

    def __init__(
        self,
        params: FetchParams,
        partitions: Sequence[FetchPartition],
        reader: LogReader,
        callback: FetchCallback,
        expirations: Counter[str],
    ) -> None:
        """`expirations` counts by "follower" and "consumer"."""
        super().__init__(params.max_wait_ms)
        self._params = params
        self._partitions = partitions
        self._reader = reader
        self._callback = callback
        self._expirations = expirations

    def try_complete(self) -> bool:
        readable = 0
        for fetch in self._partitions:
            partition = self._reader.hosted_partition_or_error(fetch.topic_partition)
            if not isinstance(partition, Partition):
                return self.force_complete()  # cases B to D
            try:
                replica = local_replica(
                    partition, self._reader.broker_id, fetch.current_leader_epoch, self._params.fetch_only_leader
                )
                if diverging_epoch(replica, fetch):
                    return self.force_complete()  # case H
            except KafkaError:
                return self.force_complete()  # cases A and E
            end = end_offset(replica.log, self._params)
            if fetch.fetch_offset > end:
                return self.force_complete()  # case F
            readable += readable_bytes(replica.log, fetch.fetch_offset, end, fetch.max_bytes)
        return readable >= self._params.min_bytes and self.force_complete()  # case G

    def on_complete(self) -> None:
        self._callback(self._reader.read_from_log(self._params, self._partitions))

    def on_expiration(self) -> None:
        """An empty answer is a normal one."""
        self._expirations["follower" if self._params.is_from_follower else "consumer"] += 1
