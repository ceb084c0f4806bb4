"""The quotas of one follower that is modelled here (KIP-73).

Theory   Kafka checks at two brokers. The leader sends nothing to a replica out of the ISR while its quota is exceeded.
         The follower does not fetch while its own quota is exceeded, unless it has all below the high watermark. Here
         both are checked before the follower copies anything. Copied bytes count for both quotas that list the replica.
         A replica that may be held back takes at most one fetch of Kafka's: replica.fetch.max.bytes, or one larger
         batch. A fetch takes a millisecond.
Source   core/.../server/ReplicaManager.scala shouldLeaderThrottle; RemoteLeaderEndPoint.scala shouldFollowerThrottle;
         ReplicaFetcherThread.scala processPartitionData @ 4.0.
Differs  Only record batches count, not the rest of the leader's response. A fetch of all partitions together is not
         limited (replica.fetch.response.max.bytes). A replica that has all below the high watermark is not held back in
         its first fetch from a new leader.
Units    bytes; monotonic milliseconds.
"""

from __future__ import annotations

from typing import NamedTuple

from fakebroker.core.config.broker_quota_config import NO_BOUND
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.quota.replication import ReplicationQuotaManager, ReplicationQuotas


class FollowerProgress(NamedTuple):
    """The state of a replica: True if it is in the ISR, and True if it has all below the high watermark."""

    is_in_sync: bool
    has_committed: bool


class FollowerThrottle:
    """The throttle of one follower: the replica of a partition on one broker."""

    __slots__ = ("_broker_id", "_partition", "_quotas")

    def __init__(self, partition: int, broker_id: int, quotas: ReplicationQuotas) -> None:
        self._partition = partition
        self._broker_id = broker_id
        self._quotas = quotas

    @property
    def fetch_max_bytes(self) -> int:
        """The limit of one fetch, which a larger batch may exceed."""
        return self._quotas.of(self._broker_id).fetch_max_bytes

    def next_fetch_ms(self, config: TopicConfig, leader_id: int, standing: FollowerProgress, now_ms: int) -> int | None:
        """Return the time of the next fetch, now or later; None if no quota limits it, so it may copy all at once."""
        next_ms: int | None = None
        for quota, counts in (
            (self._leader(config, leader_id), not standing.is_in_sync),
            (self._follower(config), not standing.has_committed),
        ):
            if counts and quota is not None and quota.bound != NO_BOUND:
                next_ms = max(next_ms or now_ms, quota.next_free_ms(now_ms))
        return next_ms

    def record(self, config: TopicConfig, leader_id: int, size: int, now_ms: int) -> None:
        """Record a copy of `size` bytes."""
        for quota in (self._leader(config, leader_id), self._follower(config)):
            if quota is not None:
                quota.record(size, now_ms)

    def _leader(self, config: TopicConfig, leader_id: int) -> ReplicationQuotaManager | None:
        quotas = self._quotas.of(leader_id)
        return quotas.leader if quotas.throttles_leader(config, self._partition) else None

    def _follower(self, config: TopicConfig) -> ReplicationQuotaManager | None:
        quotas = self._quotas.of(self._broker_id)
        return quotas.follower if quotas.throttles_follower(config, self._partition) else None


def is_throttled(config: TopicConfig) -> bool:
    """Return True if any replicas of a topic are throttled. Otherwise nothing above matters."""
    return bool(config.leader_replication_throttled_replicas or config.follower_replication_throttled_replicas)
