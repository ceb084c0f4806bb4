"""The quota of created and deleted partitions (KIP-599): a token bucket that fills up again.

Theory   A bucket holds the tokens of all its windows together, and is full at first. Each created or deleted partition
         takes a token. While one token is left, an operation may take more than there are. The bucket is then in debt,
         and until that is paid back

           strict       further operations are refused with THROTTLING_QUOTA_EXCEEDED and a throttle time
           permissive   further operations are done all the same, and the client is muted for that time

         The request's version decides between the two: older clients do not know that error.
Units    tokens are partitions; a bound is partitions per second; monotonic milliseconds.
Source   server/.../quota/{ControllerMutationQuotaManager,StrictControllerMutationQuota,
         PermissiveControllerMutationQuota}.java, clients/.../metrics/stats/TokenBucket.java @ 4.2.
Differs  By the monotonic clock. One for the cluster, as in Kafka, where the active controller has it.
"""

from __future__ import annotations

import math
from typing import Final, final

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.errors import KafkaError
from fakebroker.core.java_numbers import java_round, low_int
from fakebroker.core.quota.quota import QuotaBounds, Tags
from fakebroker.protocol.error_code import ErrorCode

CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
_MANY_BUCKETS: Final = 1024


@final
class TokenBucket:
    """A token bucket of `burst_s` seconds. The bound is an argument of each call, as it may change."""

    __slots__ = ("_burst_s", "_last_update_ms", "_tokens")

    def __init__(self, burst_s: float) -> None:
        self._burst_s = burst_s
        self._tokens = math.inf  # as if no token was ever taken
        self._last_update_ms = 0

    def measure(self, bound: float, now_ms: int) -> float:
        """Return the tokens left; negative for a debt."""
        gained = bound * ((now_ms - self._last_update_ms) / 1000.0)
        self._tokens = min(self._burst_s * bound, self._tokens + gained)
        self._last_update_ms = now_ms
        return self._tokens

    def record(self, value: float, bound: float, now_ms: int) -> None:
        self._tokens = min(self._burst_s * bound, self.measure(bound, now_ms) - value)

    def is_full(self, bound: float, now_ms: int) -> bool:
        return self.measure(bound, now_ms) >= self._burst_s * bound


@final
class ControllerMutationQuota:
    """The quota of one request. Without a `bucket` there is no limit."""

    __slots__ = ("_bound", "_bucket", "_is_strict", "_recorded_ms", "_throttle_time_ms")

    def __init__(self, bucket: TokenBucket | None, bound: float, is_strict: bool) -> None:
        self._bucket = bucket
        self._bound = bound
        self._is_strict = is_strict
        self._throttle_time_ms = 0
        self._recorded_ms = 0

    def record(self, permits: int, now_ms: int) -> None:
        """Record that `permits` partitions are about to be created or deleted. Raise KafkaError
        THROTTLING_QUOTA_EXCEEDED."""
        bucket = self._bucket
        if bucket is None:
            return
        if self._is_strict:
            if (tokens := bucket.measure(self._bound, now_ms)) < 0:
                self._violated(tokens, now_ms)
                raise KafkaError(ErrorCode.throttling_quota_exceeded, "")  # without a message, as in Kafka
            bucket.record(permits, self._bound, now_ms)
        else:
            bucket.record(permits, self._bound, now_ms)
            if (tokens := bucket.measure(self._bound, now_ms)) < 0:
                self._violated(tokens, now_ms)

    def throttle_time_ms(self, now_ms: int) -> int:
        """Return the time from now for which the client is throttled. As in Kafka this is the lower half of a long.
        More than 25 days gives some other number. A negative one, as of a rate of 1e-300, does not throttle."""
        if self._throttle_time_ms == 0:
            return 0
        return low_int(max(self._throttle_time_ms - (now_ms - self._recorded_ms), 0))

    def _violated(self, tokens: float, now_ms: int) -> None:
        self._throttle_time_ms = java_round(-tokens / self._bound * 1000)
        self._recorded_ms = now_ms


@final
class ControllerMutationQuotaManager(QuotaBounds):
    """The partition quotas of the cluster."""

    def __init__(self, config: BrokerConfig) -> None:
        super().__init__()
        self._burst_s = float(config.controller_quota_window_num * config.controller_quota_window_size_seconds)
        self._buckets: dict[Tags, TokenBucket] = {}
        self._purge_at = _MANY_BUCKETS

    def new_quota_for(self, user: str, client_id: str, is_strict: bool, now_ms: int) -> ControllerMutationQuota:
        """Return the quota of a request of that client."""
        if not self.quotas_enabled:
            return ControllerMutationQuota(None, 0.0, is_strict)
        tags = self.metric_tags(user, client_id)
        bound = self.limit(tags)
        bucket = self._buckets.get(tags)
        if bucket is None:
            if len(self._buckets) >= self._purge_at:
                self._purge(now_ms)
            bucket = self._buckets[tags] = TokenBucket(self._burst_s)
        return ControllerMutationQuota(bucket, bound, is_strict)

    def _purge(self, now_ms: int) -> None:
        """Drop the full buckets: a new one has the same effect."""
        self._buckets = {
            tags: bucket for tags, bucket in self._buckets.items() if not bucket.is_full(self.limit(tags), now_ms)
        }
        self._purge_at = max(2 * len(self._buckets), _MANY_BUCKETS)
