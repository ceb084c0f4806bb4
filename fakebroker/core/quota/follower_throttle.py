"""How quotas hold back one follower that is modelled here (KIP-73).

Theory   Kafka asks two brokers: the leader gives nothing to who is not in the ISR while its quota is exceeded, and the
         follower does not ask while its own is, unless it has all below the watermark. Here both are asked before the
         follower copies anything. What it copies counts with both that list it. While it may be held back it takes as
         much as one fetch of Kafka's takes at most, replica.fetch.max.bytes or one larger batch, and a fetch takes a
         millisecond.
Source   core/.../server/ReplicaManager.scala shouldLeaderThrottle; RemoteLeaderEndPoint.scala shouldFollowerThrottle;
         ReplicaFetcherThread.scala processPartitionData @ 4.0.
Differs  Only record batches count, not the rest of the leader's answer. A fetch of all partitions together is not
         bounded (replica.fetch.response.max.bytes). A replica that has all below the watermark is not held back in its
         first fetch from a new leader.
Units    bytes; monotonic milliseconds.
"""

from __future__ import annotations

from typing import NamedTuple

from fakebroker.core.config.broker_quota_config import NO_BOUND
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.quota.replication import ReplicationQuotaManager, ReplicationQuotas


class Standing(NamedTuple):
    """What counts of a replica: in the ISR or not, and whether it has all below the watermark."""

    is_in_sync: bool
    has_committed: bool


class FollowerThrottle:
    """Of the replica of a partition on one broker."""

    __slots__ = ("_broker_id", "_partition", "_quotas")

    def __init__(self, partition: int, broker_id: int, quotas: ReplicationQuotas) -> None:
        self._partition = partition
        self._broker_id = broker_id
        self._quotas = quotas

    @property
    def fetch_max_bytes(self) -> int:
        """What one fetch takes at most, but for a larger batch."""
        return self._quotas.of(self._broker_id).fetch_max_bytes

    def next_fetch_ms(self, config: TopicConfig, leader_id: int, standing: Standing, now_ms: int) -> int | None:
        """When it may fetch, now or later; None if it may copy all at once, because no bound concerns it."""
        next_ms: int | None = None
        for quota, counts in (
            (self._leader(config, leader_id), not standing.is_in_sync),
            (self._follower(config), not standing.has_committed),
        ):
            if counts and quota is not None and quota.bound != NO_BOUND:
                next_ms = max(next_ms or now_ms, quota.next_free_ms(now_ms))
        return next_ms

    def record(self, config: TopicConfig, leader_id: int, size: int, now_ms: int) -> None:
        """It has copied so much."""
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
    """Whether any replicas of a topic are. For the others nothing above matters."""
    return bool(config.leader_replication_throttled_replicas or config.follower_replication_throttled_replicas)
