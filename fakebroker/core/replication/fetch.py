"""What is asked of a log, and what a read gave: the values that Fetch and ListOffsets hand to the replica manager.

Units    offsets count records, sizes are bytes, times milliseconds; record timestamps are wall time.
Source   storage/.../log/{FetchParams,FetchPartitionData}.java; LogReadResult of core/.../ReplicaManager.scala @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.answers.pieces import NOTHING, Pieces
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

CONSUMER_REPLICA_ID = -1
DEBUGGING_REPLICA_ID = -2


class FetchParams(NamedTuple):
    """What a Fetch says of all its partitions. `replica_id` is -1 for a consumer, else the broker id of a follower;
    `replica_epoch` is -1 if the follower does not tell. Times are milliseconds, sizes bytes."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    replica_id: int = CONSUMER_REPLICA_ID
    replica_epoch: int = -1
    read_committed: bool = False
    has_client_metadata: bool = False

    @property
    def is_from_follower(self) -> bool:
        return self.replica_id >= 0

    @property
    def fetch_only_leader(self) -> bool:
        """Consumers may read from any replica since they tell where they are (v11, KIP-392)."""
        return self.is_from_follower or (self.replica_id == CONSUMER_REPLICA_ID and not self.has_client_metadata)


class FetchPartition(NamedTuple):
    """Where to read one partition, and how much at most. An epoch of -1 is not told."""

    partition: Partition
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1


class FetchResult(NamedTuple):
    """What a read gave. On an error the offsets are -1 and the records empty. `diverging_epoch` is (epoch, its end
    offset) for a reader whose log is not the leader's."""

    topic_partition: TopicPartition
    error_code: ErrorCode
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records: Pieces = NOTHING
    diverging_epoch: tuple[int, int] | None = None


FetchCallback = Callable[[Sequence[FetchResult]], None]


class OffsetQuery(NamedTuple):
    """What ListOffsets asks of one partition. `timestamp_ms` may be one of the special negative ones."""

    partition: Partition
    timestamp_ms: int
    current_leader_epoch: int = -1
    replica_id: int = CONSUMER_REPLICA_ID
    read_committed: bool = False


class TimestampAndOffset(NamedTuple):
    """What ListOffsets answers. -1 is "none"."""

    timestamp_ms: int = -1
    offset: int = -1
    leader_epoch: int = -1
