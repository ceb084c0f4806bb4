"""The values that Fetch and ListOffsets exchange with the replica manager: the query, and the result of a read.

Units    offsets count records, sizes are bytes, times milliseconds; record timestamps are wall time.
Source   storage/.../log/{FetchParams,FetchPartitionData}.java; LogReadResult of core/.../ReplicaManager.scala @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, final

from mypy_extensions import mypyc_attr

from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.answers.fetch_response import PartitionFetchResponse
from fakebroker.protocol.error_code import ErrorCode

CONSUMER_REPLICA_ID: Final = -1
DEBUGGING_REPLICA_ID: Final = -2


@final
class FetchParams:
    """The parameters of a Fetch that hold for all its partitions.

    replica_id           -1 for a consumer, else the broker id of a follower; `replica_epoch` is -1 if not given
    has_client_metadata  the reader has sent its `rack_id` (v11, KIP-392)
    fetch_only_leader    False for consumers that send their rack: they may read from any replica
    """

    __slots__ = (
        "fetch_only_leader", "has_client_metadata", "is_from_follower", "max_bytes", "max_wait_ms", "min_bytes",
        "rack_id", "read_committed", "replica_epoch", "replica_id",
    )  # fmt: skip

    def __init__(
        self,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
        replica_id: int = CONSUMER_REPLICA_ID,
        replica_epoch: int = -1,
        read_committed: bool = False,
        has_client_metadata: bool = False,
        rack_id: str = "",
    ) -> None:
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch
        self.read_committed = read_committed
        self.has_client_metadata = has_client_metadata
        self.rack_id = rack_id
        self.is_from_follower = replica_id >= 0
        self.fetch_only_leader = replica_id >= 0 or (replica_id == CONSUMER_REPLICA_ID and not has_client_metadata)


@mypyc_attr(free_list_len=1)
@final
class FetchPartition:
    """The offset and the size limit of a read of one partition. An epoch of -1 is not given. If `error` is not NONE,
    the reader gets that error instead of records."""

    __slots__ = ("current_leader_epoch", "error", "fetch_offset", "last_fetched_epoch", "max_bytes", "partition")

    def __init__(
        self,
        partition: Partition,
        fetch_offset: int,
        max_bytes: int,
        current_leader_epoch: int = -1,
        last_fetched_epoch: int = -1,
        error: ErrorCode = ErrorCode.none,
    ) -> None:
        self.partition = partition
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = last_fetched_epoch
        self.error = error

    def seen_by(self, broker_id: int) -> Partition:
        """Return the partition as the broker of the fetch knows it by now."""
        partition = self.partition
        if partition.stale is not None or partition.is_deleted:
            partition = self.partition = partition.as_seen_by(broker_id)
        return partition


FetchCallback = Callable[[list[PartitionFetchResponse]], None]
"""A function that receives the result of each partition, in the order of the request."""


class OffsetQuery(NamedTuple):
    """A query of ListOffsets for one partition. `timestamp_ms` may be one of the special negative ones."""

    partition: Partition
    timestamp_ms: int
    current_leader_epoch: int = -1
    replica_id: int = CONSUMER_REPLICA_ID
    read_committed: bool = False


class TimestampAndOffset(NamedTuple):
    """The result of ListOffsets for one partition. -1 is "none"."""

    timestamp_ms: int = -1
    offset: int = -1
    leader_epoch: int = -1
