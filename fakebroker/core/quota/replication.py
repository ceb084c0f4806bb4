"""How fast replicas that are throttled may catch up (KIP-73): what a broker gives them as a leader, and takes as a
follower.

Theory   A topic says which replicas are throttled, on the leader's side and on the follower's: `*` for all, or
         `partition:broker` pairs, where the broker is the one whose quota it is. A broker says how many bytes a second
         (`*.replication.throttled.rate`). All that goes to or comes from throttled replicas counts, of those in sync
         too; but only who is out of sync is held back, while the rate is above the bound. So nobody is thrown out of
         the ISR by it.
         The rate (KIP-73's SimpleRate) is the sum of the samples over the time since the oldest began, at least one
         window. A leader's begin with its first follower and not with the first throttled bytes, since it notes empty
         answers too; so on a cluster that has run for a while megabytes go over before anybody is held back. What comes
         at once is not cut: a fetch takes what it takes, and the next one waits for it. After
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
from copy import deepcopy
from typing import Final, final

from fakebroker.core.clock import Now
from fakebroker.core.config.broker_quota_config import NO_BOUND
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.quota.rate import SimpleRate

EVERY_REPLICA: Final = "*"
RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")

_NOTES_MS: Final = 100  # more often tells no more of windows of a second, and `next_free_ms` looks at each


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
    """One side of one broker. A leader notes how much is throttled of every answer to a follower, which is nothing of
    most: so its rate is one of the time for which it has followers, up to `num_samples` windows. `notes_ms` is how
    often a follower that has everything fetches, of which ten a second are noted; 0: only throttled bytes are."""

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
        """So many bytes went over, whatever the quota is."""
        self.was_exceeded(now_ms)
        self._note(now_ms)
        self._rate.record(value, now_ms)

    def _note(self, now_ms: int) -> None:
        """What was fetched since, of partitions that are not throttled or by who had everything."""
        if self._notes_ms:
            # What is too old to count is left out, in whole notes.
            too_old_ms = max(now_ms - self._kept_ms - self._noted_ms, 0)
            self._noted_ms += too_old_ms // self._notes_ms * self._notes_ms
            while self._noted_ms + self._notes_ms <= now_ms:
                self._noted_ms += self._notes_ms
                self._rate.record(0, self._noted_ms)

    def is_exceeded(self, now_ms: int) -> bool:
        self._note(now_ms)
        return self.bound != NO_BOUND and self._rate.measure(now_ms) > self.bound

    def was_exceeded(self, now_ms: int) -> bool:
        """Whether it was when this millisecond began, or the bound was set."""
        if self._judged_ms != now_ms:
            self._judged_ms, self._was_exceeded = now_ms, self.is_exceeded(now_ms)
        return self._was_exceeded

    def next_free_ms(self, now_ms: int) -> int:
        """Now, or from when on it is not exceeded any more if nothing throttled comes until then."""
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
    """What one broker gives as a leader and takes as a follower, from one start of it to the next."""

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
        quotas = self._of[broker_id] = BrokerReplicationQuotas(broker_id, self._configs, self.now_ms)
        return quotas

    def of(self, broker_id: int) -> BrokerReplicationQuotas:
        return self._of.get(broker_id) or self.start_broker(broker_id)

    def configure(self) -> None:
        """The rates were altered."""
        for quotas in self._of.values():
            quotas.configure(self._configs)
