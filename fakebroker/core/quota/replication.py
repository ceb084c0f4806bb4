"""The rates at which throttled replicas may catch up (KIP-73): what a broker sends as a leader, and receives as a
follower.

Theory   A topic lists its throttled replicas, on the leader's side and on the follower's. The list is `*` for all, or
         `partition:broker` pairs, where the broker is the one with the quota. A broker has the bytes per second
         (`*.replication.throttled.rate`). All bytes to or from throttled replicas count, of those in sync too. But only
         replicas out of sync are held back, while the rate is above the bound. So a quota removes no replica from the
         ISR. The rate (KIP-73's SimpleRate) is the sum of the samples over the time since the oldest began, at least
         one window. A leader's samples begin with its first follower and not with the first throttled bytes, since it
         records empty responses too. So on a cluster that has run for a while megabytes are sent before a replica is
         held back. One fetch is not cut: it takes its bytes, and the next one is delayed. After `samples` windows
         without a byte all is forgotten. So a bound that is small for one fetch (replica.fetch.max.bytes) is not kept,
         in Kafka neither.
Units    bytes per second; monotonic milliseconds.
Source   core/.../server/ReplicationQuotaManager.scala; core/.../server/ConfigHandler.scala TopicConfigHandler,
         BrokerConfigHandler; clients/.../common/metrics/stats/SimpleRate.java @ 4.0.
Differs  By the monotonic clock. Modelled followers all use the state before this millisecond (`was_exceeded`). Those
         that catch up at one time share the rate, as the partitions of one fetch of Kafka's do.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Final, final

from fakebroker.core.clock import Now
from fakebroker.core.config.broker_quota_config import NO_BOUND
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.quota.rate import SimpleRate

EVERY_REPLICA: Final = "*"
RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")

_NOTES_MS: Final = 100  # shorter intervals add nothing to windows of a second, and `next_free_ms` visits each


def names_replica(throttled: tuple[str, ...], partition: int, broker_id: int) -> bool:
    """Return True if a topic's list of throttled replicas has this one."""
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
    """One side of one broker. A leader records the throttled bytes of every response to a follower, mostly 0. So its
    rate covers the time for which it has followers, up to `num_samples` windows. `notes_ms` is the interval of the
    fetches of a follower that has everything, of which ten a second are recorded; with 0, only throttled bytes are
    recorded."""

    def __init__(self, num_samples: int, time_window_ms: int, notes_ms: int = 0, start_ms: int = 0) -> None:
        self.bound = NO_BOUND
        self._rate = SimpleRate(num_samples, time_window_ms)
        self._kept_ms = (num_samples + 2) * time_window_ms
        self._notes_ms = max(notes_ms, _NOTES_MS) if notes_ms else 0
        self._noted_ms = start_ms
        self._judged_ms = -1
        self._was_exceeded = False
        if notes_ms:
            self._rate.record(0, start_ms)

    def update_quota(self, bound: int) -> None:
        self.bound = bound
        self._judged_ms = -1

    def record(self, value: int, now_ms: int) -> None:
        """Record bytes sent or received, whatever the quota is."""
        self.was_exceeded(now_ms)
        self._note(now_ms)
        self._rate.record(value, now_ms)

    def _note(self, now_ms: int) -> None:
        """Record the fetches since the last record: those of other partitions, or of followers that had everything."""
        if self._notes_ms:
            # Intervals that are too old to count are left out.
            too_old_ms = max(now_ms - self._kept_ms - self._noted_ms, 0)
            self._noted_ms += too_old_ms // self._notes_ms * self._notes_ms
            while self._noted_ms + self._notes_ms <= now_ms:
                self._noted_ms += self._notes_ms
                self._rate.record(0, self._noted_ms)

    def is_exceeded(self, now_ms: int) -> bool:
        self._note(now_ms)
        return self.bound != NO_BOUND and self._rate.measure(now_ms) > self.bound

    def was_exceeded(self, now_ms: int) -> bool:
        """Return True if the quota was exceeded when this millisecond began, or when the bound was set."""
        if self._judged_ms != now_ms:
            self._judged_ms, self._was_exceeded = now_ms, self.is_exceeded(now_ms)
        return self._was_exceeded

    def next_free_ms(self, now_ms: int) -> int:
        """Return now, or the time from which the quota is no longer exceeded if no throttled bytes come until then."""
        if not self.was_exceeded(now_ms):
            return now_ms
        if not self._notes_ms:
            return max(now_ms + 1, self._rate.falls_to_ms(self.bound, now_ms))
        rate, at_ms, noted_ms = deepcopy(self._rate), now_ms, self._noted_ms
        while (falls_ms := rate.falls_to_ms(self.bound, at_ms)) >= noted_ms + self._notes_ms:
            noted_ms += self._notes_ms
            rate.record(0, noted_ms)
            at_ms = noted_ms
        return max(now_ms + 1, falls_ms)


@final
class BrokerReplicationQuotas:
    """The quotas of one broker as a leader and as a follower, from one start of it to the next."""

    def __init__(self, broker_id: int, configs: DynamicBrokerConfig, now_ms: int) -> None:
        config = configs.of(broker_id)
        samples, window_ms = config.replication_quota_window_num, config.replication_quota_window_size_seconds * 1000
        self._broker_id = broker_id
        self.leader = ReplicationQuotaManager(samples, window_ms, max(config.replica_fetch_wait_max_ms, 0), now_ms)
        self.follower = ReplicationQuotaManager(samples, window_ms)
        self.fetch_max_bytes = config.replica_fetch_max_bytes
        self.configure(configs)

    def configure(self, configs: DynamicBrokerConfig) -> None:
        quotas = configs.quotas_of(self._broker_id)
        self.leader.update_quota(quotas.leader_replication_throttled_rate)
        self.follower.update_quota(quotas.follower_replication_throttled_rate)

    def throttles_leader(self, config: TopicConfig, partition: int) -> bool:
        """Return True if that partition is throttled on this broker as a leader."""
        return names_replica(config.leader_replication_throttled_replicas, partition, self._broker_id)

    def throttles_follower(self, config: TopicConfig, partition: int) -> bool:
        """Return True if that partition is throttled on this broker as a follower."""
        return names_replica(config.follower_replication_throttled_replicas, partition, self._broker_id)


@final
class ReplicationQuotas:
    """The replication quotas of all brokers."""

    def __init__(self, configs: DynamicBrokerConfig, now: Callable[[], Now]) -> None:
        self._configs = configs
        self._now = now
        self._of: dict[int, BrokerReplicationQuotas] = {}

    @property
    def now_ms(self) -> int:
        return self._now().mono_ms

    def start_broker(self, broker_id: int) -> BrokerReplicationQuotas:
        """Begin anew for a broker that starts: no bytes are recorded yet."""
        quotas = self._of[broker_id] = BrokerReplicationQuotas(broker_id, self._configs, self.now_ms)
        return quotas

    def of(self, broker_id: int) -> BrokerReplicationQuotas:
        return self._of.get(broker_id) or self.start_broker(broker_id)

    def configure(self) -> None:
        """Apply altered rates."""
        for quotas in self._of.values():
            quotas.configure(self._configs)
