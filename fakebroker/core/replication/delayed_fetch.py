"""Park a fetch until there is enough to read, or until its wait is over.

Theory   It completes when, for any partition,
           A-D  this broker no longer leads it, has it, or knows it
           E    the reader knows another leader epoch
           F    the reader is beyond the end of what it may read, as on a truncated leader
           H    the reader's log and this one diverge below the reader's offset
         or
           G    the readable bytes of all partitions together reach min_bytes.
         Completion, on either way, reads the log again and sends the result: expiry is no error. The second read does
         not update a follower's position.
Units    max_wait_ms is monotonic milliseconds.
Source   core/.../server/DelayedFetch.scala @ 4.0.
Differs  No segments, so the other half of case F, an offset in an older segment, cannot occur. With more than 64
         partitions an event does not re-check all: it re-checks the partition of the event, and 64 others in turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from fakebroker.core.probe import Probe
from fakebroker.core.purgatory.parked_request import ParkedRequest
from fakebroker.core.replication.fetch import FetchCallback, FetchParams, FetchPartition
from fakebroker.core.replication.reads import (
    LogReader,
    diverging_epoch,
    end_offset,
    hosted_partition_error,
    local_replica,
    readable_bytes,
)
from fakebroker.protocol.answers.fetch_response import PartitionFetchResponse
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

_LOOKED_AT: Final = 64  # the number of partitions of a fetch that are re-checked after each event


def is_satisfied(results: list[PartitionFetchResponse], min_bytes: int) -> bool:
    """Return True if a fetch with these results completes now."""
    readable = 0
    for result in results:
        if (
            result.error_code != ErrorCode.none
            or result.diverging_epoch is not None
            or result.preferred_read_replica >= 0
        ):
            return True
        readable += result.records.size
    return readable >= min_bytes


class DelayedFetch(ParkedRequest):
    """A fetch parked in the purgatory of its broker."""

    __slots__ = (
        "_callback", "_expirations", "_looked_at_last", "_params", "_partitions", "_places", "_readable",
        "_readable_bytes", "_reader",
    )  # fmt: skip

    def __init__(
        self,
        params: FetchParams,
        partitions: Sequence[FetchPartition],
        reader: LogReader,
        callback: FetchCallback,
        expirations: Counter[str],
        probe: Probe,
    ) -> None:
        """Count expirations in `expirations`, by "follower" and "consumer"."""
        super().__init__(params.max_wait_ms, probe)
        self._params = params
        self._partitions = partitions
        self._reader = reader
        self._callback = callback
        self._expirations = expirations
        # For a fetch of very many partitions: the place of each, the readable bytes at its last check, the sum of
        # these, and the last partition that was checked in turn.
        self._places: dict[object, int] = {}
        self._readable: list[int] = []
        self._readable_bytes = 0
        self._looked_at_last = 0

    @property
    def min_bytes(self) -> int:
        return self._params.min_bytes

    def try_complete(self) -> bool:
        is_large = len(self._partitions) > _LOOKED_AT
        self._readable = []
        readable = 0
        for fetch in self._partitions:
            size = self._readable_of(fetch)
            if size < 0:
                return self.force_complete()
            readable += size
            if is_large:
                self._readable.append(size)
        self._readable_bytes = readable
        return readable >= self._params.min_bytes and self.force_complete()  # case G

    def try_complete_for(self, key: object) -> bool:
        """Check all partitions, or, of very many, the partition of the event and some others in turn."""
        partitions = self._partitions
        if len(partitions) <= _LOOKED_AT:
            return self.try_complete()
        if not self._places:
            self._places = {fetch.partition.topic_partition: place for place, fetch in enumerate(partitions)}
        if self._look_again(self._places[key]):
            return self.force_complete()
        for _ in range(_LOOKED_AT):
            self._looked_at_last = (self._looked_at_last + 1) % len(partitions)
            if self._look_again(self._looked_at_last):
                return self.force_complete()
        return self._readable_bytes >= self._params.min_bytes and self.force_complete()

    def _look_again(self, place: int) -> bool:
        """Check a partition again. Return True if it completes the fetch."""
        size = self._readable_of(self._partitions[place])
        self._readable_bytes += size - self._readable[place]
        self._readable[place] = size
        return size < 0

    def _readable_of(self, fetch: FetchPartition) -> int:
        """Return the readable bytes of a partition; negative in the cases that complete the fetch whatever is
        readable."""
        partition = fetch.seen_by(self._reader.broker_id)
        if hosted_partition_error(partition, self._reader.broker_id) is not None:
            return -1  # cases B to D
        try:
            replica = local_replica(
                partition, self._reader.broker_id, fetch.current_leader_epoch, self._params.fetch_only_leader
            )
            if diverging_epoch(replica, fetch):
                return -1  # case H
        except KafkaError:
            return -1  # cases A and E
        end = end_offset(replica.log, self._params)
        if fetch.fetch_offset > end:
            return -1  # case F
        params = self._params
        if params.is_from_follower and self._reader.should_leader_throttle(partition, params.replica_id):
            return 0
        return readable_bytes(replica.log, fetch.fetch_offset, end, fetch.max_bytes)

    def on_complete(self) -> None:
        results = self._reader.read_from_log(self._params, self._partitions)
        self.tell_unparked()
        self._callback(results)

    def on_expiration(self) -> None:
        """Count the expiry. An empty response is a normal one."""
        self._expirations["follower" if self._params.is_from_follower else "consumer"] += 1
