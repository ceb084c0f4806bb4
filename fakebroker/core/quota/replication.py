"""How fast replicas that are throttled may catch up (KIP-73): what a broker gives them as a leader, and takes as a
follower.

Theory   A topic says which replicas are throttled, on the leader's side and on the follower's: `*` for all, or
         `partition:broker` pairs, where the broker is the one whose quota it is. A broker says how many bytes a second
         (`*.replication.throttled.rate`). All that goes to or comes from throttled replicas counts, of those in sync
         too; but only who is out of sync is held back, while the rate is above the bound. So nobody is thrown out of
         the ISR by it.
         The rate (KIP-73's SimpleRate) is the sum of the samples over the time since the oldest began, at least one
         window. What comes at once is not cut: a fetch takes what it takes, and the next one waits for it. After
         `samples` windows without a byte all is forgotten, so a bound that is small for what one fetch takes
         (replica.fetch.max.bytes) is not kept, in Kafka neither.
Units    bytes per second; monotonic milliseconds.
Source   core/.../server/ReplicationQuotaManager.scala; core/.../server/ConfigHandler.scala TopicConfigHandler,
         BrokerConfigHandler; clients/.../common/metrics/stats/SimpleRate.java @ 4.0.
Differs  By the monotonic clock. Followers that are modelled here all ask how it stood before this millisecond
         (`was_exceeded`): those that catch up at one time share the rate, as the partitions of one fetch of Kafka's do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from fakebroker.core.clock import Now
from fakebroker.core.config.broker_quota_config import NO_BOUND
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.quota.rate import SimpleRate

EVERY_REPLICA: Final = "*"
RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")


def names_replica(throttled: tuple[str, ...], partition: int, broker_id: int) -> bool:
    """Whether a topic's list of throttled replicas has this one."""
    if not throttled:
        return False
    wanted = (partition, broker_id)
    for text in throttled:
        item = text.strip()
        if item == EVERY_REPLICA:
            return True
        index, _, broker = item.partition(":")
        if broker and (int(index), int(broker)) == wanted:
            return True
    return False


@final
class ReplicationQuotaManager:
    """One side of one broker."""

    def __init__(self, num_samples: int, time_window_ms: int) -> None:
        self.bound = NO_BOUND
        self._rate = SimpleRate(num_samples, time_window_ms)
        self._judged_ms = -1
        self._was_exceeded = False

    def update_quota(self, bound: int) -> None:
        self.bound = bound
        self._judged_ms = -1

    def record(self, value: int, now_ms: int) -> None:
        """So many bytes went over, whatever the quota is."""
        self.was_exceeded(now_ms)
        self._rate.record(value, now_ms)

    def is_exceeded(self, now_ms: int) -> bool:
        return self.bound != NO_BOUND and self._rate.measure(now_ms) > self.bound

    def was_exceeded(self, now_ms: int) -> bool:
        """Whether it was when this millisecond began, or the bound was set."""
        if self._judged_ms != now_ms:
            self._judged_ms, self._was_exceeded = now_ms, self.is_exceeded(now_ms)
        return self._was_exceeded

    def next_free_ms(self, now_ms: int) -> int:
        """Now, or from when on it is not exceeded any more if nothing comes until then."""
        return max(now_ms + 1, self._rate.falls_to_ms(self.bound, now_ms)) if self.was_exceeded(now_ms) else now_ms


@final
class BrokerReplicationQuotas:
    """What one broker gives as a leader and takes as a follower, from one start of it to the next."""

    def __init__(self, broker_id: int, configs: DynamicBrokerConfig) -> None:
        config = configs.of(broker_id)
        samples, window_ms = config.replication_quota_window_num, config.replication_quota_window_size_seconds * 1000
        self._broker_id = broker_id
        self.leader = ReplicationQuotaManager(samples, window_ms)
        self.follower = ReplicationQuotaManager(samples, window_ms)
        self.fetch_max_bytes = config.replica_fetch_max_bytes
        self.configure(configs)

    def configure(self, configs: DynamicBrokerConfig) -> None:
        quotas = configs.quotas_of(self._broker_id)
        self.leader.update_quota(quotas.leader_replication_throttled_rate)
        self.follower.update_quota(quotas.follower_replication_throttled_rate)

    def throttles_leader(self, config: TopicConfig, partition: int) -> bool:
        """Whether what this broker leads is throttled of that partition."""
        return names_replica(config.leader_replication_throttled_replicas, partition, self._broker_id)

    def throttles_follower(self, config: TopicConfig, partition: int) -> bool:
        """Whether what this broker follows is throttled of that partition."""
        return names_replica(config.follower_replication_throttled_replicas, partition, self._broker_id)


@final
class ReplicationQuotas:
    """Those of all brokers."""

    def __init__(self, configs: DynamicBrokerConfig, now: Callable[[], Now]) -> None:
        self._configs = configs
        self._now = now
        self._of: dict[int, BrokerReplicationQuotas] = {}

    @property
    def now_ms(self) -> int:
        return self._now().mono_ms

    def start_broker(self, broker_id: int) -> BrokerReplicationQuotas:
        """It begins anew: nothing has gone over yet."""
        quotas = self._of[broker_id] = BrokerReplicationQuotas(broker_id, self._configs)
        return quotas

    def of(self, broker_id: int) -> BrokerReplicationQuotas:
        return self._of.get(broker_id) or self.start_broker(broker_id)

    def configure(self) -> None:
        """The rates were altered."""
        for quotas in self._of.values():
            quotas.configure(self._configs)
